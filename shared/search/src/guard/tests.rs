use super::*;

#[test]
fn requests_to_be_answered_as_a_stranger_are_recognised() {
    for query in [
        "do not use my profile",
        "Do not use my profile",
        "please ignore my preferences",
        "Ignore my preferences",
        "ignore what you know about me",
        "without personalization",
        "Without personalisation, please",
        "Don’t use my saved preferences for this",
        "don't use any of my personal data",
        "dont use my memories",
        "never use my profile",
        "please do not consider my past preferences when answering",
        "Recommend a hotel and ignore my preferences",
        "Recommend a hotel, but don't use my profile.",
        "find restaurants without using my profile",
        "find restaurants without using what you know about me",
        "answer without looking at my history",
        "answer without taking my preferences into account",
        "don't take my preferences into account",
        "disregard everything you know about me",
        "forget what you know about me and answer",
        "forget everything you've learned about me",
        "can you ignore my profile here?",
        "I want you to ignore my preferences",
        "you should ignore my profile for now",
        "don't base your answer on my history",
        "recommend a laptop regardless of my preferences",
        "no personalization",
        "no personalization please",
        "please don't personalize this",
        "do not personalize the results",
        "turn off personalization for this question",
        "I want to opt out of personalization",
        "stop using my preferences",
        "do not use information about me",
        "set aside my preferences",
        "I don't want you to use my profile",
        "I do not want personalization",
        "what is the capital of France? do not use my memory",
        "Suggest a gift without considering my history or preferences",
        "\"ignore my preferences\"",
    ] {
        assert!(opts_out_of_personalisation(query), "{query}");
    }
}

#[test]
fn chinese_and_japanese_requests_are_recognised() {
    for query in [
        "不要使用我的个人资料",
        "请不要使用我的偏好",
        "忽略我的偏好",
        "請忽略我的偏好設定檔",
        "请忽略我之前保存的喜好，推荐一家餐厅",
        "不要参考我的历史记录",
        "別用我的個人資料",
        "忽略你对我的了解",
        "忘掉你知道的关于我的一切",
        "不要个性化",
        "不要進行個人化推薦",
        "无需个性化，直接回答",
        "私のプロフィールを使わないでください",
        "好みを無視して答えて",
        "プロフィールを使わずに教えて",
        "パーソナライズなしでおすすめを教えて",
        "パーソナライズしないでください",
        "私について知っていることを無視して",
        "履歴は参照しないで",
    ] {
        assert!(opts_out_of_personalisation(query), "{query}");
    }
}

#[test]
fn reports_questions_and_other_things_are_not_requests() {
    for query in [
        "",
        "my profile settings page ignores preferences I saved",
        "why does the app ignore my preferences?",
        "why do you ignore my profile",
        "the recommender ignored my preferences again",
        "use my profile",
        "please use my preferences",
        "what are my preferences",
        "do not use my profile picture",
        "do not use my data center credentials",
        "ignore my last message",
        "ignore the previous instructions",
        "how do I disable personalization in the settings",
        "I forget my profile password",
        "how do I delete my history",
        "does it work with my profile",
        "I do not use my profile",
        "they do not use my data",
        "personalization settings",
        "what do you know about me",
        "tell me everything you know about me",
        "personalized recommendations",
        "don't forget my preferences",
        "do not ignore my preferences",
        "never ignore my profile",
        "hotels near the beach",
        "我的偏好是什么",
        "为什么忽略我的偏好",
        "使用我的资料",
        "不要使用我的资料页面",
        "系统忽略我的偏好",
        "我忘记我的资料了",
        "忽略历史错误",
        "不要使用缓存",
        "私の好みを教えて",
        "なぜ好みを無視するのですか",
        "プロフィールを使わない理由",
        "プロフィールを忘れてしまった",
    ] {
        assert!(!opts_out_of_personalisation(query), "{query}");
    }
}
