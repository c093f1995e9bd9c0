//! The behaviour of every engine, as tests over an engine factory.
//!
//! An engine's crate has one test file that calls [`crate::conformance_tests!`] with an expression for its factory
//! ([`support::Factory`]). Each case becomes a test. The behaviour of a single engine (its files, its log, a full disk)
//! is tested in its own crate, with the stores and tables of [`support`].

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(missing_docs, reason = "the name of a case is the sentence that it holds")]

pub mod basics;
pub mod durability;
pub mod isolation;
pub mod model;
pub mod plans;
pub mod read_sets;
pub mod schema;
pub mod support;
pub mod writes;

/// Creates a test of each case of the suite, in a module `conformance`. The expression is evaluated in each test, and
/// must use absolute paths.
#[macro_export]
macro_rules! conformance_tests {
    ($factory:expr) => {
        $crate::conformance_tests! { @ $factory;
            basics {
                what_a_mutation_wrote_is_read_by_the_next_call
                rows_come_in_the_order_of_their_index_forward_and_backward_page_by_page
                a_refused_mutation_leaves_nothing_and_its_neighbours_stay
                a_unique_violation_names_its_index_and_may_be_survived
                a_row_outside_of_a_conditional_index_is_new_beside_the_one_in_it
                a_panicking_read_gives_its_reader_back
                many_writers_lose_no_update
                what_a_transaction_has_written_counts_rows_with_their_entries_and_not_what_was_rolled_back
            }
            durability {
                what_was_acknowledged_is_there_when_it_is_opened_again
                ids_go_on_behind_the_greatest_one_stored
                closing_answers_what_waits_and_takes_nothing_more
                an_installation_that_is_served_is_not_worked_on_beside
                a_copy_shows_one_commit_while_others_write
                a_database_that_was_built_takes_the_place_of_the_former_one
                a_database_with_other_rows_than_were_counted_is_not_finished
            }
            isolation {
                a_query_sees_one_snapshot_while_others_write
                a_query_sees_every_mutation_that_was_answered_before_it
                a_row_is_the_same_by_its_id_by_a_unique_key_and_in_a_walk_while_others_write
                a_panic_in_a_batch_rolls_back_alone_and_says_what_it_was
                a_mutation_past_its_deadline_rolls_back_alone_whatever_it_returns
                a_query_past_its_deadline_is_cut
                what_no_engine_stores_is_refused_by_name_and_the_mutation_may_go_on
                keys_of_an_index_have_a_bound_that_every_engine_takes
                at_least_one_host_stays_when_both_leave_at_once
                of_many_first_insertions_one_wins
                a_reader_that_is_kept_beyond_its_function_reads_nothing_more
                of_more_mutations_than_may_wait_each_is_answered_or_refused_at_once
                what_a_function_refuses_by_itself_leaves_nothing_and_is_no_failure_of_the_store
                what_is_undone_in_part_is_told_as_it_was_and_the_rest_is_stored_once
            }
            model {
                every_operation_does_what_a_plain_list_would
                random_mutations_over_stored_rows_match_a_plain_list
            }
            plans {
                texts_are_ordered_by_their_bytes_and_null_comes_first
                numbers_are_ordered_by_size
                bytes_ids_and_truth_values_are_ordered_by_their_bits
                null_is_found_by_equality_and_in_lists_and_lies_outside_of_every_range
                of_keys_alone_nothing_else_of_a_row_is_read
                a_list_may_be_long_and_not_longer
                a_visitor_may_break_off_and_its_error_is_passed_on
            }
            read_sets {
                a_read_that_no_commit_touches_is_told_the_same_bytes_and_most_of_the_others_something_else
                a_pinned_snapshot_shows_its_commit_and_what_it_shows_beyond_is_published_later
                commits_grow_over_a_restart_and_what_failed_is_published_by_nobody
                what_does_not_pass_the_writer_changes_everything
            }
            schema {
                what_is_added_is_applied_and_old_rows_have_it
                what_would_lose_something_closes_the_store_and_is_said_in_plain_words
                two_rows_that_collide_in_a_new_unique_index_close_the_store
                an_option_becomes_required_when_every_row_has_a_value
                a_retired_field_stays_in_the_database_and_may_come_back
                the_schema_that_is_kept_is_told_beside_the_one_of_the_code
                a_table_without_rows_may_change_in_any_way
                a_mistake_in_a_definition_names_its_place
                a_closed_store_refuses_queries_on_the_hot_path_too
                the_runtimes_own_tables_follow_while_the_applications_keep_the_store_closed
                the_schema_is_applied_beside_a_writer_at_work_and_fails_none_of_its_mutations
                in_part_the_database_follows_in_what_it_can_and_a_migration_does_the_rest
                a_default_fills_every_row_without_a_value_and_its_indexes
                stored_values_that_a_type_no_longer_takes_close_the_store_until_a_migration_changes_them
                a_type_that_narrowed_is_recorded_when_no_row_holds_what_it_lost
                a_type_that_takes_more_may_be_taken_back_while_no_row_needs_it
            }
            writes {
                pending_writes_appear_in_every_order
                rows_exchange_unique_keys_in_one_mutation
                row_is_replaced_under_its_id
                unique_keys_are_checked_against_pending_and_stored_rows
                nested_savepoints_undo_only_their_own_writes
                panic_inside_nested_savepoints_leaves_nothing
                row_written_several_times_is_published_once
                mutation_above_the_memory_limit_keeps_its_savepoints
            }
        }
    };
    (@ $factory:expr; $($module:ident { $($case:ident)* })*) => {
        mod conformance {
            $(mod $module {
                $(#[test]
                fn $case() {
                    $crate::conformance::$module::$case(&$factory);
                })*
            })*
        }
    };
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_case_is_in_the_list() {
        let list = include_str!("mod.rs");
        for (module, text) in [
            ("basics", include_str!("basics.rs")),
            ("durability", include_str!("durability.rs")),
            ("isolation", include_str!("isolation.rs")),
            ("model", include_str!("model.rs")),
            ("plans", include_str!("plans.rs")),
            ("read_sets", include_str!("read_sets.rs")),
            ("schema", include_str!("schema.rs")),
            ("writes", include_str!("writes.rs")),
        ] {
            let cases =
                text.lines().filter_map(|line| line.strip_prefix("pub fn ")?.strip_suffix("(engine: &Factory) {"));
            let mut count = 0;
            for case in cases {
                assert!(list.contains(&format!("                {case}\n")), "{module}::{case} is run by no engine");
                count += 1;
            }
            assert!(count > 0, "{module} has no case");
        }
    }
}
