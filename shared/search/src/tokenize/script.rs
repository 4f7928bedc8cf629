//! Scripts whose words are not separated by spaces.

/// Whether `c` belongs to Han, Hiragana, Katakana or Hangul, or to a South-East Asian script without spaces.
/// Punctuation between such characters does not: it ends a run.
pub(super) fn is_unsegmented(c: char) -> bool {
    matches!(c,
        '\u{e00}'..='\u{e3e}' | '\u{e40}'..='\u{e4e}' | '\u{e80}'..='\u{ece}' // Thai, Lao
        | '\u{1000}'..='\u{103f}' | '\u{1780}'..='\u{17d3}' // Myanmar, Khmer
        | '\u{1100}'..='\u{11ff}' | '\u{3130}'..='\u{318f}' | '\u{a960}'..='\u{a97f}' // Hangul letters
        | '\u{ac00}'..='\u{d7ff}' // Hangul syllables
        | '\u{3005}'..='\u{3007}' // 々〆〇
        | '\u{3041}'..='\u{3096}' | '\u{3099}'..='\u{309a}' | '\u{309d}'..='\u{309f}' // Hiragana
        | '\u{30a1}'..='\u{30fa}' | '\u{30fc}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' // Katakana
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' // Han
        | '\u{20000}'..='\u{323af}')
}
