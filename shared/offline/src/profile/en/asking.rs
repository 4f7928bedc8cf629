//! Requests that show a lasting preference: how to be reached, how to pay, in which language to be answered.

use domain::entities::ProfileTimeToLive::{Infinity, OneMonth};

use super::{third_person, trimmed};
use crate::pattern::patterns;
use crate::profile::Fact;

const POLITE: &str = r"^(?:(?:please|just|always|you can(?: always)?|feel free to|(?:can|could|would|will) you(?: please)?|let's|yes|if needed|and) )*";

patterns! {
    CONTACT = format!(r"{POLITE}(?P<v>e-?mail|text|call|contact|reach|message|dm|whatsapp|phone) me (?P<x>(?:only |instead |at |on |by |via |after |before |through |in the |during |rather |between |preferably |over )[^?]+)$");
    NO_CONTACT = r"^(?:please )?(?:don't|do not|never|stop) (?:ever )?(?P<v>e-?mail|e-?mailing|text|texting|call|calling|contact|contacting|phone|phoning|message|messaging) me(?P<x> [^?]+)?$";
    PAY = format!(r"{POLITE}(?:use|charge|pay with|bill) (?P<x>(?:my|a|an|the|our) (?:[\w'-]+ ){{0,4}}(?:card|gift cards?|certificates?|paypal|visa|mastercard|amex|apple pay|google pay|voucher|points|miles)\b[^?]*)\??$");
    PAYMENT = r"^(?:the )?(?:payment method|payment) (?:will be|is|should be) (?P<x>(?:with |by )?(?:my|a|an|the) [^?]+)$";
    REPLY = format!(r"{POLITE}(?:reply|answer|respond|write|speak|talk)(?: to me| back)?(?: only| always)? in (?P<x>english|german|french|spanish|italian|portuguese|dutch|japanese|chinese|mandarin|korean|russian|polish|swedish|turkish|arabic|hindi|greek|danish|norwegian|finnish|czech|hungarian|romanian|ukrainian|hebrew|thai|vietnamese|catalan)\b.*$");
    TAIL = r" (?:for payment|for (?:this|the|that|any) (?:booking|payment|purchase|order|reservation|flight|trip|price difference|payment needed)(?: needed)?|that's (?:already )?on file.*|to (?:pay|cover) .*)$";
}

/// A preference shown by a request.
pub(super) fn fact(request: &str) -> Option<Fact> {
    let request = trimmed(request);
    if let Some(found) = NO_CONTACT.captures(request) {
        let x = found.name("x").map_or("", |x| x.as_str());
        return Some(Fact::lasting(format!(
            "Does not want to be {}{}",
            participle(&found["v"]),
            third_person(x)
        )));
    }
    if let Some(found) = CONTACT.captures(request) {
        return Some(Fact::new(
            format!("Wants to be {} {}", participle(&found["v"]), third_person(&found["x"])),
            Infinity,
        ));
    }
    if let Some(found) = REPLY.captures(request) {
        return Some(Fact::lasting(format!("Prefers answers in {}", crate::text::capitalised(&found["x"]))));
    }
    if let Some(found) = PAYMENT.captures(request) {
        let x = found["x"].trim_start_matches("with ").trim_start_matches("by ").to_owned();
        return Some(Fact::new(
            format!("Wants to pay with {}", third_person(&without_purpose(&x))),
            OneMonth,
        ));
    }
    let found = PAY.captures(request)?;
    Some(Fact::new(format!("Wants to pay with {}", third_person(&without_purpose(&found["x"]))), OneMonth))
}

/// The means of payment without what it is to pay for.
pub(super) fn without_purpose(means: &str) -> String {
    TAIL.replace(means, "").into_owned()
}

fn participle(verb: &str) -> &'static str {
    let verb = verb.to_lowercase().replace('-', "");
    match verb.as_str() {
        "email" | "emailing" => "emailed",
        "text" | "texting" => "texted",
        "call" | "calling" | "phone" | "phoning" => "called",
        "reach" => "reached",
        "message" | "dm" | "whatsapp" | "messaging" => "messaged",
        _ => "contacted",
    }
}
