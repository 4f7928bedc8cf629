//! The Japanese opt-out: 私のプロフィールを使わないで, 好みは無視して, パーソナライズなしで.

use super::{skip_all, strip_any};

/// What may be known about a user. Whose it is mostly goes unsaid.
const KNOWN: &[&str] = &[
    "プロフィール",
    "プロファイル",
    "好み",
    "嗜好",
    "履歴",
    "記憶",
    "個人情報",
    "個人データ",
    "パーソナライズ",
    "パーソナライゼーション",
    "個人化",
];
const ME: &[&str] = &["私", "僕", "俺", "わたし", "ぼく", "自分"];
const ABOUT: &[&str] = &["について", "に関して", "に関する", "のことで"];
const KNOWING: &[&str] = &[
    "知っている",
    "知ってる",
    "覚えている",
    "覚えてる",
    "学んだ",
    "学習した",
    "保存した",
    "保存された",
    "記憶した",
    "の",
    "これまでに",
    "すべての",
    "全ての",
];
const THINGS: &[&str] = &["こと", "事", "情報", "データ", "内容", "知識"];
const PARTICLES: &[&str] =
    &["情報", "データ", "を", "は", "に", "も", "について", "など", "すべて", "全て", "一切", "は", "、"];
/// Requests, not mere negations: 使わない may as well tell what someone does not do.
const REFUSALS: &[&str] = &[
    "使わないで",
    "使わずに",
    "使わず",
    "使用しないで",
    "使用せず",
    "利用しないで",
    "利用せず",
    "無視して",
    "無視した上で",
    "無視で",
    "考慮しないで",
    "考慮せず",
    "参照しないで",
    "参照せず",
    "参考にしないで",
    "参考にせず",
    "反映しないで",
    "反映せず",
    "頼らないで",
    "頼らず",
    "忘れて",
    "除いて",
    "見ないで",
    "見ずに",
    "なしで",
    "無しで",
    "抜きで",
    "しないで",
    "せずに",
    "オフにして",
    "関係なく",
];
/// 忘れてしまった: forgotten, not to be forgotten.
const REPORTS: &[&str] = &["しま", "いる", "いた", "いま", "た", "ない"];
const QUESTIONS: &[&str] = &["なぜ", "何故", "どうして", "理由", "方法"];

pub(super) fn opts_out(query: &str) -> bool {
    if query.is_ascii() || QUESTIONS.iter().any(|question| query.contains(question)) {
        return false;
    }
    query.char_indices().any(|(at, _)| after_known(&query[at..]).is_some_and(is_refused))
}

/// What follows something known about the user.
fn after_known(text: &str) -> Option<&str> {
    if let Some(after) = strip_any(text, KNOWN) {
        return Some(after);
    }
    let about = strip_any(strip_any(text, ME)?, ABOUT)?;
    strip_any(skip_all(about, KNOWING), THINGS)
}

fn is_refused(after: &str) -> bool {
    let refused = strip_any(skip_all(after, PARTICLES), REFUSALS);
    refused.is_some_and(|rest| strip_any(rest, REPORTS).is_none())
}
