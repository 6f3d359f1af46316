use super::*;

fn workload() -> Workload {
    Workload {
        sessions_per_second: 10.0,
        ..Workload::built_in().unwrap()
    }
}

const HOUR: Duration = Duration::from_secs(3600);
const MINUTE: Duration = Duration::from_secs(60);

#[test]
fn one_seed_gives_one_plan_and_another_seed_another() {
    let workload = workload();
    assert_eq!(plan(&workload, 7, MINUTE), plan(&workload, 7, MINUTE));
    assert_ne!(plan(&workload, 7, MINUTE), plan(&workload, 8, MINUTE));
}

#[test]
fn a_longer_run_begins_as_a_shorter_one_does() {
    let workload = workload();
    let cut = |duration| {
        plan(&workload, 7, duration)
            .into_iter()
            .filter(|session| session.turns[0].at < MINUTE)
            .map(|mut session| {
                session.turns.retain(|turn| turn.at < MINUTE);
                session
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(cut(MINUTE), cut(2 * MINUTE));
}

#[test]
fn chats_start_at_the_mean_rate_and_at_random_moments() {
    let sessions = plan(&workload(), 7, HOUR);
    let starts: Vec<f64> = sessions
        .iter()
        .map(|s| s.turns[0].at.as_secs_f64())
        .collect();
    assert!(starts.is_sorted());
    let mean = starts.len() as f64 / HOUR.as_secs_f64();
    assert!((mean - 10.0).abs() < 0.3, "{mean} a second");
    // The gaps of a Poisson process deviate from their mean by as much as the mean itself.
    let gaps: Vec<f64> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let variance = gaps.iter().map(|gap| (gap - 0.1).powi(2)).sum::<f64>() / gaps.len() as f64;
    assert!((variance.sqrt() - 0.1).abs() < 0.01, "{}", variance.sqrt());
}

#[test]
fn popularity_falls_as_the_law_of_zipf_says() {
    let mut workload = workload();
    workload.system_prompts = SystemPrompts {
        count: 4,
        tokens: 10,
        zipf_exponent: 1.0,
    };
    let sessions = plan(&workload, 7, HOUR);
    let total = 1.0 + 1.0 / 2.0 + 1.0 / 3.0 + 1.0 / 4.0;
    for index in 0..4 {
        let count = sessions
            .iter()
            .filter(|s| s.system_prompt_index == index)
            .count();
        let share = count as f64 / sessions.len() as f64;
        let expected = 1.0 / (index as f64 + 1.0) / total;
        assert!(
            (share - expected).abs() < 0.01,
            "{index}: {share}, {expected} expected"
        );
    }
}

#[test]
fn every_drawn_figure_is_within_its_range_and_messages_follow_each_other() {
    let workload = workload();
    let contains = |range: Range, value: u128| {
        (u128::from(range.min)..=u128::from(range.max)).contains(&value)
    };
    for session in plan(&workload, 7, 10 * MINUTE) {
        assert!(session.turns.len() <= workload.turns.max as usize);
        assert_eq!(
            session.system_prompt.len(),
            4 * workload.system_prompts.tokens as usize
        );
        for turn in &session.turns {
            assert!(turn.at < 10 * MINUTE);
            assert!(contains(
                workload.user_tokens,
                turn.message.len() as u128 / 4
            ));
            assert!(contains(
                workload.answer_tokens,
                u128::from(turn.answer_tokens)
            ));
        }
        for pair in session.turns.windows(2) {
            let gap = pair[1].at - pair[0].at;
            assert!(contains(workload.turn_gap_ms, gap.as_millis()));
        }
    }
}

#[test]
fn chats_share_a_system_prompt_only_if_it_is_the_same_one() {
    let sessions = plan(&workload(), 7, MINUTE);
    for (one, other) in sessions.iter().zip(sessions.iter().skip(1)) {
        assert_eq!(
            one.system_prompt_index == other.system_prompt_index,
            one.system_prompt == other.system_prompt
        );
    }
}

#[test]
fn a_wrong_file_is_refused_and_the_field_is_named() {
    let with = |from: &str, to: &str| {
        assert!(BUILT_IN.contains(from), "{from}");
        let error = Workload::parse(&BUILT_IN.replace(from, to)).unwrap_err();
        format!("{error:#}")
    };
    assert!(with("turn_gap_ms", "turn_gap").contains("turn_gap"));
    assert!(
        with("sessions_per_second: ", "sessions_per_second: -").contains("sessions_per_second")
    );
    assert!(
        with("sessions_per_second: ", "sessions_per_second: .nan #")
            .contains("sessions_per_second")
    );
    assert!(with("turns: { min: ", "turns: { min: 9").contains("turns"));
    assert!(with("count: ", "count: 0 #").contains("system_prompts.count"));
}
