//! Files written by users.

use kinglet_scenario::Scenario;

/// Scenario files: any text gives a scenario or an error that can be displayed.
pub fn scenario(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match Scenario::from_toml("fuzz.toml", text) {
        Ok(scenario) => assert!(!scenario.nodes.is_empty()),
        Err(error) => assert!(error.to_string().contains("fuzz.toml")),
    }
}
