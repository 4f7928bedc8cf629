//! The built-in conversations: three users of a travel agent, with preferences, corrections, tool calls, one in
//! Japanese, and one who asks to forget something.

use serde_json::{Value, json};

/// The users, in the order in which they are shown.
pub(super) const USERS: [&str; 3] = ["priya", "tom", "mika"];

/// What the user asked to forget; must not be found in anything that is remembered.
pub(super) const FORGOTTEN: (&str, &str) = ("tom", "peanut");

/// A search to show: user, query, and a word that the best hit must hold.
pub(super) const SEARCHES: [(&str, &str, &str); 3] = [
    ("priya", "window or aisle seat on the plane?", "window"),
    ("tom", "which units should distances be in?", "metric"),
    ("mika", "ホテルの部屋の好みは？", "部屋"),
];

/// One publish call for each element, with the session it belongs to.
pub(super) fn requests() -> Vec<Value> {
    vec![priya_booking(), priya_correction(), tom_planning(), tom_forgets(), mika_kyoto(), mika_tools()]
}

fn turn(role: &str, content: &str) -> Value {
    json!({ "role": role, "content": content })
}

fn request(user: &str, session: &str, turns: Vec<Value>) -> Value {
    json!({
        "user_id": user,
        "session_id": session,
        "source": "demo",
        "agent_version": "travel-agent-v1",
        "session_finished": true,
        "interaction_data_list": turns,
    })
}

fn priya_booking() -> Value {
    request(
        "priya",
        "demo-priya-1",
        vec![
            turn("User", "Hi, I'm Priya. I work as a structural engineer in Pune and I travel a lot."),
            turn("Assistant", "Nice to meet you, Priya. Where are you off to?"),
            turn("User", "Berlin next month. I prefer window seats, and I'm vegetarian."),
            turn("Assistant", "Noted. Shall I look for direct flights?"),
            turn("User", "Yes please. My budget is 900 euros."),
            turn("Assistant", "I found a direct flight for 840 euros."),
        ],
    )
}

fn priya_correction() -> Value {
    request(
        "priya",
        "demo-priya-2",
        vec![
            turn("User", "Can you summarise the options?"),
            turn("Assistant", "Here is a long essay about every airline that flies to Berlin …"),
            turn("User", "No, that's too long. From now on always answer with short bullet points."),
            turn("Assistant", "Understood.\n- LH 763, 840 euros\n- AI 129, 790 euros"),
        ],
    )
}

fn tom_planning() -> Value {
    request(
        "tom",
        "demo-tom-1",
        vec![
            turn("User", "I'm Tom, I live in Leeds. I'm allergic to peanuts."),
            turn("Assistant", "Thanks Tom, I'll keep that in mind."),
            turn("User", "I prefer metric units. Please don't give me distances in miles."),
            turn("Assistant", "Of course: it is 420 kilometres."),
            turn("User", "Great. I usually travel with my dog Biscuit."),
            turn("Assistant", "Good to know, I'll look for places that take dogs."),
        ],
    )
}

fn tom_forgets() -> Value {
    request(
        "tom",
        "demo-tom-2",
        vec![
            turn("User", "Please forget that I'm allergic to peanuts, the test was wrong."),
            turn("Assistant", "Done, I won't mention it again."),
        ],
    )
}

fn mika_kyoto() -> Value {
    request(
        "mika",
        "demo-mika-1",
        vec![
            turn("User", "こんにちは。私はミカです。京都に住んでいます。"),
            turn("Assistant", "ミカさん、こんにちは。"),
            turn("User", "私はベジタリアンです。静かな部屋が好きです。"),
            turn("Assistant", "承知しました。"),
            turn("User", "今後は必ず敬語で答えてください。"),
            turn("Assistant", "かしこまりました。"),
        ],
    )
}

fn mika_tools() -> Value {
    let call = |status: &str, output: &str, content: &str| {
        json!({
            "role": "Assistant",
            "content": content,
            "tools_used": [{
                "tool_name": "book_hotel",
                "tool_data": {"input": {"city": "京都", "nights": 2}, "output": output},
                "status": status,
            }],
        })
    };
    request(
        "mika",
        "demo-mika-2",
        vec![
            turn("User", "来週、京都のホテルを2泊予約してください。"),
            call("error", "Error: check_in must be a date in the form YYYY-MM-DD", ""),
            call("success", "confirmed", "日付を YYYY-MM-DD で渡し直し、予約できました。"),
            turn("User", "ありがとうございます。"),
        ],
    )
}
