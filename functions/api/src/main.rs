//! The Lambda function `api`.

use lambda_http::Error;
use runtime::App;
use runtime::telemetry::{self, LogFormat};

#[tokio::main]
async fn main() -> Result<(), Error> {
    telemetry::init(LogFormat::Json, "info,aws_config=warn,hyper=warn");
    let app = App::from_env().await?;
    lambda_http::run(api::limit_answers(api::router(app))).await
}
