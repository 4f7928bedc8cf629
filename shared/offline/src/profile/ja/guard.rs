//! What looks like a statement in Japanese and is none.

use crate::pattern::patterns;

patterns! {
    QUESTION = r"(?:か|かな|かしら|でしょう|っけ)?[？?]\s*$|(?:ですか|ますか|ませんか|でしょうか|だろうか|のか|かな)[。]?$";
    UNREAL = r"もし(?:も)?[、私僕俺]|仮に|たとえば私が|だったら|だとしたら|としたら|になりきって|ふりをして|のつもりで|かもしれ|気がする|だったらいいのに|たらなあ|ならいいのに|小説|物語|架空|例文";
    IRONY = r"\(笑\)|（笑）|ｗｗ|www|🙄|さすがですね|なんてね|冗談です|嘘です|わけない|わけがない";
    HEARSAY = r"(?:と(?:言って|話して|書いて|聞いて)|って(?:言って|聞いた)|と(?:言いました|言われ|思われ)|らしい|だそうです|とのこと)";
    ANOTHER = r"^(?:彼|彼女|彼ら|友達|友人|友だち|同僚|上司|部下|先輩|後輩|隣の人|知人|あなた|君|みんな|皆|先生|お客様|[\p{L}]{1,6}(?:さん|ちゃん|君|くん|様))(?:は|が|も|の)";
}

/// Whether nothing in the sentence may be taken at its word.
pub(super) fn is_no_statement(sentence: &str) -> bool {
    QUESTION.is_match(sentence)
        || UNREAL.is_match(sentence)
        || IRONY.is_match(sentence)
        || HEARSAY.is_match(sentence)
}

/// Whether a clause speaks of someone who is neither the user nor family.
pub(super) fn is_about_another(clause: &str) -> bool {
    const FAMILY: [&str; 11] = [
        "お母さん",
        "お父さん",
        "お兄さん",
        "お姉さん",
        "奥さん",
        "赤ちゃん",
        "お子さん",
        "母さん",
        "父さん",
        "兄さん",
        "姉さん",
    ];
    ANOTHER.is_match(clause) && !FAMILY.iter().any(|word| clause.contains(word))
}
