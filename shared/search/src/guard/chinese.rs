//! The Chinese opt-out, simplified and traditional: 不要使用我的资料, 忽略我的偏好, 不要个性化.

use super::{skip_all, strip_any};

/// Requests to leave something aside; longer ones before their beginnings.
const REFUSALS: &[&str] = &[
    "不要再使用",
    "不要使用",
    "不要参考",
    "不要參考",
    "不要考虑",
    "不要考慮",
    "不要根据",
    "不要根據",
    "不要基于",
    "不要基於",
    "不要依据",
    "不要依據",
    "不要结合",
    "不要結合",
    "不要读取",
    "不要讀取",
    "不要查看",
    "不要利用",
    "不要看",
    "不要用",
    "不要管",
    "别使用",
    "別使用",
    "别参考",
    "別參考",
    "别考虑",
    "別考慮",
    "别用",
    "別用",
    "别管",
    "別管",
    "请勿使用",
    "請勿使用",
    "请勿参考",
    "請勿參考",
    "勿用",
    "不使用",
    "不参考",
    "不參考",
    "不考虑",
    "不考慮",
    "不用考虑",
    "不用考慮",
    "无需考虑",
    "無需考慮",
    "忽略",
    "无视",
    "無視",
    "忽视",
    "忽視",
    "抛开",
    "拋開",
    "忘掉",
    "忘记",
    "忘記",
];
const FILLERS: &[&str] = &[
    "任何",
    "所有",
    "一切",
    "全部",
    "我",
    "的",
    "关于",
    "關於",
    "有关",
    "有關",
    "保存",
    "存储",
    "儲存",
    "之前",
    "过去",
    "過去",
    "以前",
    "以往",
    "已知",
    "已",
    "个人",
    "個人",
    "用户",
    "使用者",
    "那些",
    "你",
    "您",
    "对",
    "對",
    "知道",
    "记住",
    "記住",
    "了",
];
const KNOWN: &[&str] = &[
    "偏好设定档",
    "偏好設定檔",
    "资料",
    "資料",
    "档案",
    "檔案",
    "偏好",
    "喜好",
    "画像",
    "畫像",
    "历史",
    "歷史",
    "记忆",
    "記憶",
    "信息",
    "資訊",
    "数据",
    "數據",
    "习惯",
    "習慣",
    "了解",
    "认识",
    "認識",
    "背景",
    "事情",
    "事",
    "设定档",
    "設定檔",
];
/// Nouns that make something else of the known thing before them (my profile *page*).
const LONGER_NAMES: &[&str] = &[
    "设置", "設置", "设定", "設定", "页", "頁", "密码", "密碼", "功能", "选项", "選項", "图", "圖", "照片",
    "链接", "鏈接", "連結", "文件", "库", "庫", "卡",
];
const NO_PERSONALISATION: &[&str] = &[
    "不要",
    "无需",
    "無需",
    "不需要",
    "不用",
    "别",
    "別",
    "关闭",
    "關閉",
    "取消",
    "停止",
    "停用",
    "不做",
    "不进行",
    "不進行",
    "非",
];
const PERSONALISATION: &[&str] = &["个性化", "個性化", "个人化", "個人化", "客製化推薦", "定制化推荐"];
const QUESTIONS: &[&str] =
    &["为什么", "為什麼", "为何", "為何", "怎么", "怎麼", "如何", "是否", "会不会", "會不會"];
/// Who is told about, right before the verb: it is a report.
const SUBJECTS: &[char] = &['我', '他', '她', '它', '们', '們', '统', '統', '被'];

pub(super) fn opts_out(query: &str) -> bool {
    if query.is_ascii() || QUESTIONS.iter().any(|question| query.contains(question)) {
        return false;
    }
    query.char_indices().any(|(at, _)| {
        let (before, from) = query.split_at(at);
        !before.ends_with(SUBJECTS) && (refuses_known(from) || refuses_personalisation(from))
    })
}

fn refuses_known(text: &str) -> bool {
    let Some(object) = strip_any(text, REFUSALS) else { return false };
    let known = known_part(object);
    // It must be mine: 忽略历史 is about history.
    let mine = object[..object.len() - known.len()].contains('我');
    let everything = ["一切", "所有"].iter().any(|all| object[..object.len() - known.len()].ends_with(all));
    let after = strip_any(known, KNOWN).or(everything.then_some(known));
    mine && after.is_some_and(|after| strip_any(after, LONGER_NAMES).is_none())
}

/// `object` from the known thing on. 了 alone is a filler, 了解 is something known.
fn known_part(mut object: &str) -> &str {
    while strip_any(object, KNOWN).is_none() {
        let Some(rest) = strip_any(object, FILLERS) else { break };
        object = rest;
    }
    object
}

fn refuses_personalisation(text: &str) -> bool {
    let Some(object) = strip_any(text, NO_PERSONALISATION) else { return false };
    let object = skip_all(object, &["使用", "进行", "進行", "做", "任何", "给我", "給我", "对我", "對我"]);
    let after = strip_any(object, PERSONALISATION);
    after.is_some_and(|after| strip_any(after, LONGER_NAMES).is_none())
}
