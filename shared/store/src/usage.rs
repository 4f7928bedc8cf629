//! What models cost, per organisation, day, purpose and model.

use domain::ids::OrgId;

use crate::Store;
use crate::attributes::number;
use crate::error::StoreError;
use crate::keys;
use crate::transaction::Expression;

/// Calls of one purpose to one model, added up.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UsageTotals {
    /// Calls that were made.
    pub calls: i64,
    /// Those among them that failed.
    pub failures: i64,
    /// Tokens read.
    pub input_tokens: i64,
    /// Tokens written.
    pub output_tokens: i64,
}

impl Store {
    /// Adds to the totals of a UTC day (`YYYY-MM-DD`). Counters only grow: losing an answer may count a batch
    /// twice, never lose one that was reported.
    ///
    /// # Errors
    /// [`StoreError`] when the table fails.
    pub async fn add_usage(
        &self,
        org: &OrgId,
        day: &str,
        purpose: &str,
        model: &str,
        totals: &UsageTotals,
    ) -> Result<(), StoreError> {
        let key = keys::org_item(org, &format!("USE#{day}#{purpose}#{model}"));
        let expression = Expression::new("ADD ucalls :calls, ufail :fail, uin :in, uout :out")
            .value(":calls", number(totals.calls))
            .value(":fail", number(totals.failures))
            .value(":in", number(totals.input_tokens))
            .value(":out", number(totals.output_tokens));
        self.update_one(&key, expression).await?;
        Ok(())
    }
}
