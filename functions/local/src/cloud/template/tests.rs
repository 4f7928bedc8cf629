//! The deployed template as it stands, and small ones for each rule.

use std::collections::BTreeMap;

use super::{Cloud, DeduplicationScope, FunctionEvent, TemplateError};

fn read(yaml: &str) -> Result<Cloud, TemplateError> {
    Cloud::from_template(yaml, &BTreeMap::new())
}

fn refused(yaml: &str) -> String {
    read(yaml).expect_err("the template should be refused").to_string()
}

fn deployed() -> Cloud {
    Cloud::deployed(&BTreeMap::new()).unwrap()
}

#[test]
fn the_deployed_table_has_its_keys_both_indexes_and_a_time_to_live() {
    let cloud = deployed();
    let [table] = cloud.tables.as_slice() else { panic!("one table") };
    assert_eq!((table.logical_id.as_str(), table.name.as_str()), ("Table", "retrospect-Table"));
    let properties = &table.properties;
    assert_eq!(properties["BillingMode"], "PAY_PER_REQUEST");
    assert_eq!(properties["KeySchema"][0]["AttributeName"], "PK");
    assert_eq!(properties["KeySchema"][1]["AttributeName"], "SK");
    assert_eq!(properties["GlobalSecondaryIndexes"][0]["IndexName"], "by_time");
    assert_eq!(properties["GlobalSecondaryIndexes"][1]["IndexName"], "due");
    assert_eq!(properties["TimeToLiveSpecification"]["AttributeName"], "ttl");
    assert_eq!(properties["SSESpecification"], serde_json::Value::Null);
}

#[test]
fn the_deployed_queues_are_fifo_and_each_has_another_for_what_failed_five_times() {
    let cloud = deployed();
    let names: Vec<_> = cloud.queues.iter().map(|queue| queue.logical_id.as_str()).collect();
    let expected = ["Learn", "Aggregate", "Operate", "Evaluate"]
        .map(|kind| [format!("{kind}Queue"), format!("{kind}DeadLetterQueue")])
        .concat();
    assert_eq!(names, expected);
    for pair in cloud.queues.chunks(2) {
        let [queue, dead] = pair else { panic!("pairs") };
        assert_eq!(queue.name, format!("retrospect-{}.fifo", queue.logical_id));
        assert_eq!(queue.url(), format!("https://sqs.us-east-1.amazonaws.com/000000000000/{}", queue.name));
        assert_eq!(queue.arn(), format!("arn:aws:sqs:us-east-1:000000000000:{}", queue.name));
        assert!(queue.fifo && dead.fifo);
        assert_eq!(queue.deduplication_scope, DeduplicationScope::MessageGroup);
        let redrive = queue.redrive.as_ref().unwrap();
        assert_eq!((&redrive.dead_letter, redrive.max_receive_count), (&dead.logical_id, 5));
        assert_eq!(dead.retention_seconds, 1_209_600);
    }
}

#[test]
fn a_message_stays_invisible_for_thirty_seconds_longer_than_its_function_may_run() {
    let cloud = deployed();
    let learn = cloud.functions.iter().find(|function| function.logical_id == "LearnFunction").unwrap();
    let queue = cloud.queues.iter().find(|queue| queue.logical_id == "LearnQueue").unwrap();
    assert_eq!(queue.visibility_seconds, learn.timeout_seconds + 30);
}

#[test]
fn the_deployed_functions_have_their_programs_and_events() {
    let cloud = deployed();
    let summary: Vec<_> = cloud
        .functions
        .iter()
        .map(|f| (f.logical_id.as_str(), f.binary.as_str(), f.timeout_seconds))
        .collect();
    assert_eq!(
        summary,
        [
            ("ApiFunction", "api", 29),
            ("LearnFunction", "learn", 720),
            ("AggregateFunction", "aggregate", 720),
            ("OperateFunction", "operate", 720),
            ("EvaluateFunction", "evaluate", 720),
            ("SweepFunction", "sweep", 60),
        ]
    );
    let [api, learn, aggregate, operate, evaluate, sweep] = cloud.functions.as_slice() else {
        panic!("six functions")
    };
    assert_eq!(api.events.len(), 2);
    let wake = |queue: &str, concurrency| FunctionEvent::Sqs {
        queue: queue.to_owned(),
        batch_size: 1,
        report_failures: true,
        maximum_concurrency: Some(concurrency),
    };
    assert_eq!(learn.events, [wake("LearnQueue", 10)]);
    assert_eq!(aggregate.events, [wake("AggregateQueue", 2)]);
    assert_eq!(operate.events, [wake("OperateQueue", 5)]);
    assert_eq!(evaluate.events, [wake("EvaluateQueue", 10)]);
    let minute =
        FunctionEvent::Schedule { name: "EveryMinute".to_owned(), expression: "rate(1 minute)".to_owned() };
    assert_eq!(sweep.events, [minute]);
}

#[test]
fn every_function_finds_the_resources_in_its_environment() {
    let cloud = deployed();
    for function in &cloud.functions {
        let environment = &function.environment;
        assert_eq!(environment["RETROSPECT_TABLE"], cloud.tables[0].name);
        assert_eq!(environment["RETROSPECT_BUCKET"], cloud.buckets[0].name);
        assert_eq!(environment["RETROSPECT_KMS_KEY"], cloud.keys[0].key_id);
        assert_eq!(environment["RETROSPECT_LEARN_QUEUE_URL"], cloud.queues[0].url());
        assert_eq!(environment["RETROSPECT_LLM_API_KEY"], "");
    }
    assert!(cloud.buckets[0].versioned);
    assert_eq!(cloud.keys[0].aliases, ["alias/retrospect"]);
}

#[test]
fn a_given_parameter_takes_the_place_of_its_default() {
    let given = BTreeMap::from([("LearnConcurrency".to_owned(), "3".to_owned())]);
    let cloud = Cloud::deployed(&given).unwrap();
    let FunctionEvent::Sqs { maximum_concurrency, .. } = cloud.functions[1].events[0] else { panic!("SQS") };
    assert_eq!(maximum_concurrency, Some(3));
    let unknown = BTreeMap::from([("Nonsense".to_owned(), "3".to_owned())]);
    assert!(matches!(Cloud::deployed(&unknown), Err(TemplateError::UnknownParameter(_))));
}

#[test]
fn a_parameter_without_default_must_be_given() {
    let yaml = "Parameters: {Name: {Type: String}}\nResources: {}";
    assert!(matches!(read(yaml), Err(TemplateError::MissingParameter(name)) if name == "Name"));
}

#[test]
fn sub_knows_names_attributes_a_map_and_literals() {
    let yaml = r#"
Parameters: {Stage: {Type: String, Default: dev}}
Resources:
  Q: {Type: AWS::SQS::Queue, Properties: {QueueName: !Sub "q-${Stage}"}}
  F:
    Type: AWS::Serverless::Function
    Metadata: {BuildProperties: {Binary: f}}
    Properties:
      Environment:
        Variables:
          A: !Sub "${AWS::Region}/${Q.QueueName}/${Stage}"
          B: !Sub ["${X}-${Stage}-${!Kept}", {X: !GetAtt Q.Arn}]
          C: {"Fn::GetAtt": [Q, QueueUrl]}
          D: 7
"#;
    let environment = &read(yaml).unwrap().functions[0].environment;
    assert_eq!(environment["A"], "us-east-1/q-dev/dev");
    assert_eq!(environment["B"], "arn:aws:sqs:us-east-1:000000000000:q-dev-dev-${Kept}");
    assert_eq!(environment["C"], "https://sqs.us-east-1.amazonaws.com/000000000000/q-dev");
    assert_eq!(environment["D"], "7");
}

#[test]
fn whatever_the_local_cloud_would_have_to_obey_and_does_not_know_is_named() {
    let cases = [
        (
            "Resources: {T: {Type: AWS::SNS::Topic}}",
            "T: the local cloud knows no resource of type AWS::SNS::Topic",
        ),
        (
            "Resources: {Q: {Type: AWS::SQS::Queue, Properties: {Colour: red}}}",
            "Q: Colour: the local cloud does not know this property",
        ),
        (
            "Resources: {Q: {Type: AWS::SQS::Queue, Properties: {DelaySeconds: !FindInMap [a, b, c]}}}",
            "Q: DelaySeconds: Fn::FindInMap is not known to the local cloud",
        ),
        (
            "Resources: {Q: {Type: AWS::SQS::Queue, Properties: {QueueName: !Ref Nobody}}}",
            "Q: QueueName: Nobody has no value in the local cloud",
        ),
        (
            "Resources: {Q: {Type: AWS::SQS::Queue, Condition: Sometimes}}",
            "Q: Condition: the local cloud does not know this attribute",
        ),
        ("Mappings: {}\nResources: {}", "template section Mappings: not known to the local cloud"),
        ("Globals: {Api: {}}\nResources: {}", "template section Globals.Api: not known to the local cloud"),
        (
            "Resources: {B: {Type: AWS::S3::Bucket, Properties: {VersioningConfiguration: {X: 1}}}}",
            "B: VersioningConfiguration.X: the local cloud does not know this property",
        ),
    ];
    for (yaml, expected) in cases {
        assert_eq!(refused(yaml), expected, "{yaml}");
    }
}

#[test]
fn numbers_of_a_queue_are_accepted_up_to_their_limits_and_not_beyond() {
    let queue = |name: &str, value: u32| {
        format!("Resources: {{Q: {{Type: AWS::SQS::Queue, Properties: {{{name}: {value}}}}}}}")
    };
    let limits = [
        ("VisibilityTimeout", 0, 43_200),
        ("DelaySeconds", 0, 900),
        ("MessageRetentionPeriod", 60, 1_209_600),
        ("MaximumMessageSize", 1_024, 1_048_576),
        ("ReceiveMessageWaitTimeSeconds", 0, 20),
    ];
    for (name, least, most) in limits {
        for (value, ok) in [(least, true), (most - 1, true), (most, true), (most + 1, false)] {
            assert_eq!(read(&queue(name, value)).is_ok(), ok, "{name} {value}");
        }
    }
    assert!(read(&queue("MessageRetentionPeriod", 59)).is_err());
}

fn function(timeout: u32, extra: &str, event: &str) -> String {
    format!(
        "
Resources:
  Q: {{Type: AWS::SQS::Queue, Properties: {{VisibilityTimeout: 60}}}}
  F:
    Type: AWS::Serverless::Function
    Metadata: {{BuildProperties: {{Binary: f}}}}
    Properties: {{Timeout: {timeout}, {extra} Events: {{E: {event}}}}}"
    )
}

#[test]
fn a_mapping_is_refused_when_messages_would_come_again_during_a_run() {
    let event = "{Type: SQS, Properties: {Queue: !GetAtt Q.Arn}}";
    assert!(read(&function(60, "", event)).is_ok());
    assert!(refused(&function(61, "", event)).contains("shorter than the function's Timeout"));
}

#[test]
fn an_unknown_event_or_a_foreign_queue_is_refused() {
    assert!(refused(&function(3, "", "{Type: SNS}")).contains("no event of type SNS"));
    let foreign = "{Type: SQS, Properties: {Queue: 'arn:aws:sqs:us-east-1:1:x'}}";
    assert!(refused(&function(3, "", foreign)).contains("no queue of this template"));
    let filtered = "{Type: SQS, Properties: {Queue: !GetAtt Q.Arn, FilterCriteria: {}}}";
    assert!(refused(&function(3, "", filtered)).contains("Events.E.Properties.FilterCriteria"));
}

#[test]
fn a_scheduled_function_must_be_one_that_neither_overlaps_nor_retries() {
    let event = "{Type: Schedule, Properties: {Schedule: rate(1 minute)}}";
    let right = "ReservedConcurrentExecutions: 1, EventInvokeConfig: {MaximumRetryAttempts: 0},";
    assert!(read(&function(3, right, event)).is_ok());
    assert!(refused(&function(3, "", event)).contains("MaximumRetryAttempts"));
}

#[test]
fn a_dead_letter_queue_must_be_of_the_same_type() {
    let yaml = "
Resources:
  Dead: {Type: AWS::SQS::Queue}
  Q:
    Type: AWS::SQS::Queue
    Properties:
      FifoQueue: true
      RedrivePolicy: {deadLetterTargetArn: !GetAtt Dead.Arn, maxReceiveCount: 1}";
    assert!(refused(yaml).contains("RedrivePolicy.deadLetterTargetArn"));
    assert!(read(&yaml.replace("FifoQueue: true", "DelaySeconds: 0")).is_ok());
}

#[test]
fn globals_give_way_to_the_function_and_environments_merge() {
    let yaml = "
Globals: {Function: {Timeout: 9, Environment: {Variables: {A: global, B: global}}}}
Resources:
  F:
    Type: AWS::Serverless::Function
    Metadata: {BuildProperties: {Binary: f}}
    Properties: {Environment: {Variables: {B: own}}}";
    let function = &read(yaml).unwrap().functions[0];
    assert_eq!(function.timeout_seconds, 9);
    assert_eq!((function.environment["A"].as_str(), function.environment["B"].as_str()), ("global", "own"));
}
