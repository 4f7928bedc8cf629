"""Uses the client that agents of today use, reflexio-client, against a running server.

The client parses every answer into its own models, so a field of another name or type fails here by itself; the
checks below are about what the answers say.
"""

import argparse
import asyncio
import time
from datetime import UTC, datetime, timedelta

import requests
from reflexio import ReflexioClient

USER = "ana"
# With the wait on the server it is below this; without, it is asked for again until then. In seconds.
LEARNED_SECONDS_MAX = 60

TURNS = [
    {"role": "User", "content": "I live in Lisbon and I am allergic to peanuts. Always answer in metric units."},
    {"role": "Assistant", "content": "Noted: metric units from now on."},
]


def check(condition, message, got):
    if not condition:
        raise SystemExit(f"client: {message}: {got!r}")


def check_account(client: ReflexioClient, config_is_open: bool):
    me = client.whoami()
    check(me.success and me.org_id == "self-host-org", "whoami names the organisation", me)
    if config_is_open:
        mine = client.get_my_config()
        check(isinstance(mine.success, bool), "my_config answers", mine)
        return
    try:
        mine = client.get_my_config()
        check(not mine.success, "my_config is closed", mine)
    except requests.HTTPError as error:
        check(error.response.status_code in (403, 404), "my_config is closed", error)


def check_config(client: ReflexioClient):
    before = client.get_config()
    check(before.window_size > 0 and before.stride_size > 0, "a fresh configuration has defaults", before)
    answer = client.update_config({"window_size": 12, "stride_size": 4})
    check(answer["success"] is True, "update_config is accepted", answer)
    after = client.get_config()
    check((after.window_size, after.stride_size) == (12, 4), "update_config changed two values", after)
    check(
        after.profile_extractor_config == before.profile_extractor_config, "and nothing else", after.profile_extractor_config
    )
    # The client reads a configuration and writes all of it back.
    answer = client.set_config(before)
    check(answer["success"] is True, "set_config takes what get_config gave", answer)
    restored = client.get_config()
    check(restored.model_dump() == before.model_dump(), "set_config restores every value", restored)


def check_publish_and_lists(client: ReflexioClient) -> str:
    published = client.publish_interaction(USER, TURNS, source="chat", session_id="session-1")
    check(published.success and published.request_id, "publish is accepted", published)
    status = client.get_learning_status(published.request_id)
    check(status in ("pending", "processing", "done", "failed"), "a request has a learning status", status)

    found = client.get_requests(user_id=USER)
    check(found.success and not found.has_more, "requests are listed", found)
    check([session.session_id for session in found.sessions] == ["session-1"], "one session", found.sessions)
    [entry] = found.sessions[0].requests
    check(entry.request.request_id == published.request_id, "the request is ours", entry.request)
    check(entry.request.source == "chat", "the source is kept", entry.request)
    check([turn.content for turn in entry.interactions] == [turn["content"] for turn in TURNS], "turns in order", entry)

    listed = client.get_interactions(user_id=USER)
    check({turn.content for turn in listed.interactions} == {turn["content"] for turn in TURNS}, "both turns", listed)
    check(len({turn.interaction_id for turn in listed.interactions}) == 2, "ids differ", listed)
    later = client.get_interactions(user_id=USER, start_time=datetime.now(UTC) + timedelta(hours=1))
    check(later.interactions == [], "none in the future", later)
    everyone = client.get_all_interactions()
    check(len(everyone.interactions) == 2, "all interactions of all users", everyone)

    hits = client.search_interactions(user_id=USER, query="peanuts")
    check(any("peanuts" in turn.content for turn in hits.interactions), "a turn is found at once", hits)
    try:
        client.get_learning_status("no-such-request")
        check(False, "an unknown request is a 404", None)
    except requests.HTTPError as error:
        check(error.response.status_code == 404, "an unknown request is a 404", error)
    return published.request_id


def check_profiles(client: ReflexioClient):
    added = client.add_user_profile([{"user_id": USER, "content": "Prefers the window seat on long flights"}])
    check(added.success and added.added_count == 1, "a profile is added", added)
    read = client.get_profiles(user_id=USER, force_refresh=True)
    check(any(profile.content == "Prefers the window seat on long flights" for profile in read.user_profiles), "read", read)
    check(all(profile.user_id == USER for profile in read.user_profiles), "only the user's own", read)
    everyone = client.get_all_profiles()
    check(any(profile.source == "cli-manual" for profile in everyone.user_profiles), "the source is kept", everyone)
    hits = client.search_user_profiles(user_id=USER, query="window seat")
    check(hits.user_profiles and "window seat" in hits.user_profiles[0].content, "and found", hits)


def check_playbooks(client: ReflexioClient):
    playbook = {
        "user_id": USER,
        "agent_version": "v1",
        "request_id": "by-hand",
        "playbook_name": "refunds",
        "content": "Confirm the booking code before a refund is promised",
        "trigger": "the customer asks for a refund",
    }
    added = client.add_user_playbook([playbook])
    check(added.success and added.added_count == 1, "a playbook is added", added)
    read = client.get_user_playbooks(user_id=USER, playbook_name="refunds")
    check([row.content for row in read.user_playbooks] == [playbook["content"]], "and read", read)
    row = read.user_playbooks[0]
    check(row.user_playbook_id > 0 and row.agent_version == "v1", "with id and version", row)
    hits = client.search_user_playbooks(user_id=USER, query="refund booking code")
    check(hits.user_playbooks and hits.user_playbooks[0].content == playbook["content"], "and found", hits)
    other = client.search_user_playbooks(user_id="bo", query="refund booking code")
    check(other.user_playbooks == [], "by nobody else", other)


def check_learning(client: ReflexioClient):
    answer = client.publish_interaction(
        "bo",
        [
            {"role": "User", "content": "I am a vegetarian and I work as a nurse in Porto."},
            {"role": "Assistant", "content": "Thanks, I will keep that in mind."},
        ],
        session_id="session-2",
        wait_for_response=True,
        force_extraction=True,
    )
    check(answer.success, "publish waits", answer)
    until = time.monotonic() + LEARNED_SECONDS_MAX
    while client.get_learning_status(answer.request_id) in ("pending", "processing"):
        check(time.monotonic() < until, f"learned within {LEARNED_SECONDS_MAX} s", answer.request_id)
        time.sleep(0.2)
    status = client.get_learning_status(answer.request_id)
    check(status == "done", "learning is done", status)
    learned = client.get_profiles(user_id="bo", force_refresh=True).user_profiles
    check(any("vegetarian" in profile.content for profile in learned), "what was said is learned", learned)
    check(all(profile.generated_from_request_id for profile in learned), "with its origin", learned)
    found = client.search(query="vegetarian", user_id="bo")
    check(any("vegetarian" in profile.content for profile in found.profiles), "and found", found)


def check_search(client: ReflexioClient):
    for mode in ("hybrid", "fts"):
        found = client.search(query="window seat refund booking code", user_id=USER, search_mode=mode)
        check(found.success and found.profiles and found.user_playbooks, f"search by {mode} finds both kinds", found)
        check(found.agent_playbooks == [], "no agent playbooks yet", found)
    only = client.search(query="refund", user_id=USER, entity_types=["user_playbooks"])
    check(only.profiles == [] and only.user_playbooks, "search of one kind", only)


async def check_async(client: ReflexioClient):
    published = await asyncio.gather(
        *(
            client.publish_interaction_async("cy", [{"role": "User", "content": f"Message {n}"}], session_id="session-3")
            for n in range(8)
        )
    )
    check(len({answer.request_id for answer in published}) == 8, "eight requests at once", published)
    stored = client.get_requests(user_id="cy", top_k=100)
    check(sum(len(session.requests) for session in stored.sessions) == 8, "all stored", stored)
    found = await client.search_async(query="refund", user_id=USER)
    check(found.user_playbooks, "asynchronous search", found)


def check_access(base: str):
    for key in ("", "wrong"):
        try:
            ReflexioClient(api_key=key, url_endpoint=base).whoami()
            check(False, f"key {key!r} is refused", None)
        except requests.HTTPError as error:
            check(error.response.status_code == 401, f"key {key!r} is refused", error)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("base", help="URL of a fresh server")
    parser.add_argument("--key", default="", help="the API key that it asks for")
    parser.add_argument("--my-config", action="store_true", help="it answers my_config")
    arguments = parser.parse_args()
    client = ReflexioClient(api_key=arguments.key, url_endpoint=arguments.base, timeout=60)
    if arguments.key:
        check_access(arguments.base)
    check_account(client, arguments.my_config)
    check_config(client)
    check_publish_and_lists(client)
    check_profiles(client)
    check_playbooks(client)
    check_search(client)
    check_learning(client)
    asyncio.run(check_async(client))
    print(f"client: ok against {arguments.base}")


if __name__ == "__main__":
    main()
