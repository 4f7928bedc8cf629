//! Japanese sentences and what must be read from them.

use crate::common::{check, facts, playbooks_of, rules};

const FACTS: &[(&str, &[&str])] = &[
    ("私の名前は佐藤花子です。", &["名前は佐藤花子"]),
    ("田中と申します。", &["名前は田中"]),
    ("ハルと呼んでください。", &["ハルと呼ばれたい"]),
    ("看護師として働いています。", &["看護師として働いている"]),
    ("私は高校の教師です。", &["高校の教師"]),
    ("札幌に住んでいます。", &["札幌に住んでいる"]),
    ("出身は長崎です。", &["出身は長崎"]),
    ("通路側の席が好きです。", &["通路側の席が好き"]),
    ("辛い料理は苦手です。", &["辛い料理は苦手"]),
    ("電話よりメールのほうがいいです。", &["電話よりメールのほうがいい"]),
    ("えびアレルギーがあります。", &["えびアレルギーがある"]),
    ("実は牛乳は飲めません。", &["牛乳は飲めない"]),
    ("猫を二匹飼っています。", &["猫を二匹飼っている"]),
    ("娘は五歳です。", &["娘は五歳"]),
    ("普段は自転車で通勤しています。", &["普段は自転車で通勤している"]),
    ("仕事ではRustを使っています。", &["仕事ではRustを使っている"]),
    ("予算は三万円までです。", &["予算は三万円まで"]),
    ("ゴールド会員です。", &["ゴールド会員"]),
    ("来週の金曜日に福岡へ出張します。", &["2025-06-20に福岡へ出張する"]),
    ("明日から休みです。", &["2025-06-12から休み"]),
    ("支払いは銀行振込でお願いします。", &["支払いは銀行振込"]),
    ("私は美容師で、姫路に住んでいます。", &["美容師", "姫路に住んでいる"]),
    ("うさぎを飼っています。名前はミミです。", &["うさぎを飼っている", "うさぎの名前はミミ"]),
    ("僕は造船所で働いてるよ。", &["造船所で働いている"]),
    ("来月の3日に引っ越します。", &["2025-07-03に引っ越す"]),
    ("趣味は釣りです。", &["趣味は釣り"]),
    ("夜勤なので、朝は電話に出られません。", &["夜勤", "朝は電話に出られない"]),
];

const NO_FACTS: &[&str] = &[
    "猫が好きですか？",
    "もし私が東京に住んでいたら、どうしますか。",
    "友達は犬が好きです。",
    "田中さんは寿司が好きです。",
    "彼女はコーヒーが好きだと言っています。",
    "それが好きです。",
    "予約をお願いします。",
    "ありがとうございます。",
    "パスワードはabc123です。",
    "残業が大好きなわけないでしょう(笑)",
];

#[test]
fn japanese_statements_become_facts() {
    check(FACTS.iter().map(|(sentence, expected)| {
        let expected: Vec<String> = expected.iter().map(|fact| (*fact).to_owned()).collect();
        ((*sentence).to_owned(), facts(sentence), expected)
    }));
}

#[test]
fn japanese_sentences_without_a_statement_yield_nothing() {
    check(NO_FACTS.iter().map(|sentence| ((*sentence).to_owned(), facts(sentence), Vec::new())));
}

const RULES: &[(&str, &str, &str)] = &[
    ("今後は箇条書きで答えてください。", "このユーザーに応対するとき", "箇条書きで答えてください。"),
    ("必ず出典を書いてください。", "このユーザーに応対するとき", "出典を書いてください。"),
    ("絵文字は使わないでください。", "このユーザーに応対するとき", "絵文字は使わないでください。"),
    (
        "コードを直すときは、先にテストを必ず実行してください。",
        "コードを直すとき",
        "先にテストを必ず実行してください。",
    ),
    (
        "次回からは税込みの値段を見せてほしいです。",
        "このユーザーに応対するとき",
        "税込みの値段を見せてほしいです。",
    ),
    ("専門用語を避けてください。", "このユーザーに応対するとき", "専門用語を避けてください。"),
];

#[test]
fn japanese_instructions_become_rules() {
    check(RULES.iter().map(|(sentence, trigger, content)| {
        let expected = vec![((*trigger).to_owned(), (*content).to_owned())];
        ((*sentence).to_owned(), rules(&[("user", sentence)]), expected)
    }));
}

#[test]
fn japanese_sentences_without_an_instruction_yield_no_rule() {
    for sentence in [
        "心配しないでください。",
        "天気を教えてください。",
        "予約してください。",
        "忘れないでください。",
        "いつも助かっています。",
    ] {
        assert_eq!(playbooks_of(&[("user", sentence)]), [], "{sentence}");
    }
}

#[test]
fn a_japanese_correction_becomes_a_rule() {
    let found = playbooks_of(&[
        ("user", "値段は？"),
        ("assistant", "50ドルです。"),
        ("user", "ドルではなくて円にしてください。"),
    ]);
    assert_eq!(found[0].content, "ドルではなく円にする。");
    let found = playbooks_of(&[
        ("user", "要約して"),
        ("assistant", "長い文章"),
        ("user", "違います、三行でまとめてください。"),
    ]);
    assert_eq!(found[0].content, "三行でまとめてください。");
}
