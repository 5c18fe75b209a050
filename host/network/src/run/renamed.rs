//! Renamed fields of records, so that a column with an old name is refused with the new one.

/// Fields of `kinglet sim --json` with their old and new paths, since version 2 of the format.
pub const FIELDS: [(&str, &str); 20] = [
    ("aodv.failed_searches", "aodv.failed_discoveries"),
    ("aodv.searches", "aodv.route_discoveries"),
    ("aodv.strays", "aodv.no_route"),
    ("around_s", "recovery_s"),
    ("because", "explanation"),
    ("border_queue.most", "border_queue.peak"),
    ("border_queue.passed", "border_queue.dequeued"),
    ("border_queue.taken", "border_queue.queued"),
    ("decided", "outcome_known"),
    ("flash.most", "flash.peak"),
    ("frames_taken", "frames_accepted"),
    ("losses.what", "losses.relation"),
    ("losses_left_out", "losses_omitted"),
    ("power.rest", "power.sleep"),
    ("samples.resent", "samples.retransmitted"),
    ("strobes.answers", "strobes.responses"),
    ("strobes.at_once", "strobes.acked_at_first"),
    ("timeout_causes.lone", "timeout_causes.single_segment"),
    ("timeout_causes.needless", "timeout_causes.spurious"),
    ("timeout_causes.silence", "timeout_causes.no_feedback"),
];

/// The new name of a column of a sweep that has an old one, such as `nodes.aodv.strays.mean`.
pub fn column(old: &str) -> Option<String> {
    let whole = format!(".{old}.");
    let (old, new) = FIELDS.iter().find(|(old, _)| whole.contains(&format!(".{old}.")))?;
    Some(whole.replace(&format!(".{old}."), &format!(".{new}.")).trim_matches('.').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_has_every_renamed_field() {
        let text = include_str!("../../../../docs/renamed.md");
        for (old, new) in FIELDS {
            let last = |path: &'static str| path.rsplit('.').next().unwrap_or(path);
            let row = format!(" | `{}` | `{}` |", last(old), last(new));
            assert!(text.contains(&row), "{row}");
        }
    }
}
