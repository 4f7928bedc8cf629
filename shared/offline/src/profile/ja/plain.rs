//! Polite endings become plain ones: 「使っています」 → 「使っている」.

/// Stems before ます that end in an i-sound and yet do not inflect like 書きます.
const ICHIDAN: [&str; 14] = [
    "でき", "起き", "着", "見", "借り", "足り", "降り", "信じ", "感じ", "浴び", "過ぎ", "飽き", "煮", "閉じ",
];
/// The i-row, and the same consonant in the u-row and the a-row.
const ROWS: [(char, char, char); 9] = [
    ('い', 'う', 'わ'),
    ('き', 'く', 'か'),
    ('ぎ', 'ぐ', 'が'),
    ('し', 'す', 'さ'),
    ('ち', 'つ', 'た'),
    ('に', 'ぬ', 'な'),
    ('び', 'ぶ', 'ば'),
    ('み', 'む', 'ま'),
    ('り', 'る', 'ら'),
];

/// The sentence in plain form; what is not polite stays as it is.
pub(crate) fn plain(text: &str) -> String {
    for (polite, ending) in [
        ("んです", ""),
        ("のです", ""),
        ("でしたら", "だったら"),
        ("でした", "だった"),
        ("です", ""),
        ("ではありません", "ではない"),
        ("じゃありません", "ではない"),
        ("ありません", "ない"),
    ] {
        if let Some(stem) = text.strip_suffix(polite) {
            return format!(
                "{}{ending}",
                stem.strip_suffix('な').filter(|_| polite == "んです").unwrap_or(stem)
            );
        }
    }
    if let Some(stem) = text.strip_suffix("ません") {
        return negative(stem);
    }
    if let Some(stem) = text.strip_suffix("ます") {
        return dictionary(stem);
    }
    if let Some(stem) =
        text.strip_suffix('だ').filter(|stem| !stem.ends_with(['ん', 'い']) || stem.ends_with("嫌い"))
    {
        return stem.to_owned();
    }
    // Spoken 「使ってる」.
    match text
        .strip_suffix('る')
        .filter(|stem| ["して", "んで", "って", "いて"].iter().any(|end| stem.ends_with(end)))
    {
        Some(stem) => format!("{stem}いる"),
        None => text.to_owned(),
    }
}

fn dictionary(stem: &str) -> String {
    if stem.ends_with("して") || stem.ends_with("てい") || stem.ends_with("でい") || stem == "い" {
        return format!("{stem}る");
    }
    if is_suru(stem) {
        return format!("{}する", &stem[..stem.len() - 'し'.len_utf8()]);
    }
    if stem == "来" || stem.ends_with("て来") || ICHIDAN.iter().any(|verb| stem.ends_with(verb)) {
        return format!("{stem}る");
    }
    match row_of(stem) {
        Some((u, _)) => format!("{}{u}", without_last(stem)),
        None => format!("{stem}る"),
    }
}

fn negative(stem: &str) -> String {
    if is_suru(stem)
        || stem.ends_with("てい")
        || stem.ends_with("でい")
        || stem == "い"
        || ICHIDAN.iter().any(|verb| stem.ends_with(verb))
    {
        return format!("{stem}ない");
    }
    match row_of(stem) {
        Some((_, a)) => format!("{}{a}ない", without_last(stem)),
        None => format!("{stem}ない"),
    }
}

/// 旅行します, but not 話します or 探します: する follows a noun, a particle or nothing.
fn is_suru(stem: &str) -> bool {
    const GODAN: [&str; 16] = [
        "話",
        "探",
        "出",
        "貸",
        "返",
        "過ご",
        "暮ら",
        "直",
        "消",
        "押",
        "渡",
        "残",
        "試",
        "飛ば",
        "引っ越",
        "引越",
    ];
    stem.strip_suffix('し').is_some_and(|noun| !GODAN.iter().any(|verb| noun.ends_with(verb)))
}

fn row_of(stem: &str) -> Option<(char, char)> {
    let last = stem.chars().last()?;
    ROWS.iter().find(|(i, ..)| *i == last).map(|(_, u, a)| (*u, *a))
}

fn without_last(stem: &str) -> &str {
    stem.char_indices().last().map_or("", |(at, _)| &stem[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polite_forms_become_plain() {
        for (polite, expected) in [
            ("猫が好きです", "猫が好き"),
            ("猫が好きなんです", "猫が好き"),
            ("大阪に住んでいます", "大阪に住んでいる"),
            ("毎朝走ります", "毎朝走る"),
            ("肉を食べません", "肉を食べない"),
            ("酒を飲みません", "酒を飲まない"),
            ("泳げません", "泳げない"),
            ("旅行します", "旅行する"),
            ("英語を話します", "英語を話す"),
            ("運転できます", "運転できる"),
            ("車がありません", "車がない"),
            ("医者ではありません", "医者ではない"),
            ("猫が好き", "猫が好き"),
            ("引っ越します", "引っ越す"),
            ("銀行で働いてる", "銀行で働いている"),
        ] {
            assert_eq!(plain(polite), expected, "{polite}");
        }
    }
}
