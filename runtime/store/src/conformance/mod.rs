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
                written_row_is_read_by_the_next_call
                pages_follow_the_index_order_in_both_directions
                rejected_mutation_rolls_back_alone
                unique_violation_names_its_index_and_can_be_handled
                row_outside_a_conditional_index_does_not_conflict_with_a_row_in_it
                panicking_read_returns_its_reader
                concurrent_writers_lose_no_update
                written_bytes_count_rows_and_index_entries_but_no_rolled_back_writes
            }
            durability {
                acknowledged_writes_survive_a_reopen
                ids_continue_after_the_greatest_stored_id
                close_completes_queued_calls_and_rejects_new_ones
                served_installation_rejects_offline_work
                copy_is_a_snapshot_of_one_commit_during_writes
                built_database_replaces_the_former_one
                built_database_with_a_wrong_row_count_is_rejected
            }
            isolation {
                query_reads_one_snapshot_during_writes
                query_sees_every_mutation_acknowledged_before_it
                row_is_equal_by_id_by_unique_key_and_by_scan_during_writes
                panic_in_a_batch_rolls_back_alone_and_keeps_its_message
                mutation_past_its_deadline_rolls_back_alone
                query_past_its_deadline_is_cancelled
                unstorable_value_is_rejected_by_name_and_the_mutation_can_continue
                index_keys_have_a_size_limit_that_every_engine_supports
                concurrent_leaves_keep_at_least_one_host
                one_of_many_concurrent_first_inserts_wins
                reader_kept_after_its_function_cannot_read
                mutations_beyond_the_queue_limit_are_rejected_immediately
                rejection_by_a_function_rolls_back_and_is_not_a_store_failure
                partly_undone_writes_are_published_and_stored_once
            }
            model {
                every_operation_matches_a_plain_list
                random_mutations_over_stored_rows_match_a_plain_list
            }
            plans {
                texts_are_ordered_by_bytes_after_null
                numbers_are_ordered_by_size
                bytes_ids_and_booleans_are_ordered_by_their_bits
                null_matches_equality_and_lists_but_no_range
                read_of_keys_reads_no_other_field
                list_condition_has_a_length_limit
                visitor_can_stop_and_its_error_is_returned
            }
            read_sets {
                read_without_a_commit_keeps_its_bytes_and_most_others_change
                pinned_snapshot_shows_its_commit_and_later_rows_are_published_later
                commit_numbers_grow_over_a_restart_and_failed_commits_are_not_published
                write_outside_the_writer_invalidates_every_read
            }
            schema {
                additions_are_applied_to_existing_rows
                lossy_change_closes_the_store_with_a_plain_reason
                collision_in_a_new_unique_index_closes_the_store
                option_becomes_required_if_every_row_has_a_value
                retired_field_stays_in_the_database_and_can_return
                stored_schema_is_reported_beside_the_schema_of_the_code
                empty_table_accepts_any_change
                invalid_definition_names_its_place
                closed_store_rejects_queries_on_the_hot_path
                runtime_tables_are_updated_while_application_tables_close_the_store
                schema_change_fails_no_concurrent_mutation
                possible_changes_are_applied_and_a_migration_completes_the_rest
                default_fills_rows_without_a_value_and_their_indexes
                values_outside_a_narrowed_type_close_the_store_until_a_migration
                narrowed_type_is_recorded_if_no_row_has_a_removed_value
                widened_type_can_be_reverted_while_no_row_needs_it
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
