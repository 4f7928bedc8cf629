//! The Lambda function `evaluate`.

use aws_lambda_events::event::sqs::SqsEvent;
use lambda_runtime::{Error, LambdaEvent, service_fn};
use runtime::App;
use runtime::telemetry::{self, LogFormat};

#[tokio::main]
async fn main() -> Result<(), Error> {
    telemetry::init(LogFormat::Json, "info,aws_config=warn,hyper=warn");
    let app = App::from_env().await?;
    let handle = |event: LambdaEvent<SqsEvent>| {
        let app = &app;
        async move {
            let deadline_ms = i64::try_from(event.context.deadline).unwrap_or(i64::MAX);
            Ok::<_, Error>(evaluate::handle(app, event.payload, deadline_ms).await)
        }
    };
    lambda_runtime::run(service_fn(handle)).await
}
