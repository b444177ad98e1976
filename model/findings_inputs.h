// Everything that the rules read from a frame, by the contract's names: X(series, NAME), X(hists, NAME), X(tables,
// NAME), X(trees, NAME), X(TABLE, COLUMN). A name that is not in this list does not compile, and
// tests/unit/test_schema.c checks that each row exists in the frames of the real collectors.
#ifndef MODEL_FINDINGS_INPUTS_H
#define MODEL_FINDINGS_INPUTS_H

// clang-format off
#define FINDINGS_INPUTS(X) \
    X(series, cache_mpki) X(series, context_switches_per_s) X(series, cpu_idle_pct) X(series, cpu_iowait_pct) X(series, cpu_some_pct) \
    X(series, cpu_steal_pct) X(series, cpus_online) X(series, forks_per_s) X(series, io_full_pct) \
    X(series, io_some_pct) X(series, ipc) X(series, major_faults_per_s) X(series, mem_available_kib) \
    X(series, mem_total_kib) X(series, memory_full_pct) X(series, memory_some_pct) X(series, oom_kills_per_s) \
    X(series, procs_blocked) X(series, procs_running) X(series, swap_in_per_s) X(series, swap_out_per_s) \
    X(series, tasks_uninterruptible) X(series, tasks_zombie) X(series, tcp_retransmits_per_s) \
    X(hists, io_latency) X(hists, io_queue) X(hists, io_total) X(trees, cpu) \
    X(tables, block_devices) X(tables, by_cgroup) X(tables, by_process) X(tables, cpu_counters) \
    X(tables, cpu_limits) X(tables, cpus) X(tables, close_wait) X(tables, devices) X(tables, filesystems) X(tables, filesystem_files) X(tables, file_creators) X(tables, interfaces) \
    X(tables, io_errors) X(tables, io_in_flight) X(tables, io_limits) X(tables, kernel_errors) X(tables, limits) X(tables, file_locks) X(tables, local_ports) X(tables, network_namespaces) X(tables, lock_waits) X(tables, memory) X(tables, memory_limits) X(tables, read_only_mounts) X(tables, sched_stuck) X(tables, server_waits) X(tables, socket_queues) X(tables, stopped) X(tables, dirty_waits) \
    X(tables, tasks) X(tables, tracing_left) X(tables, tcp) X(tables, udp) \
    X(block_devices, device) X(block_devices, errors_per_s) X(block_devices, last_error) \
    X(block_devices, last_error_sector) X(block_devices, oldest_comm) X(block_devices, oldest_pid) \
    X(block_devices, oldest_us) X(block_devices, requeues_per_s) X(block_devices, timeouts_per_s) \
    X(by_cgroup, cgroup) X(by_cgroup, device) X(by_cgroup, ios_per_s) X(by_cgroup, latency_us) X(by_cgroup, op) \
    X(by_cgroup, total_us) \
    X(by_process, bytes_per_s) X(by_process, comm) X(by_process, device) X(by_process, ios_per_s) \
    X(by_process, op) X(by_process, pid) X(by_process, total_us_per_s) \
    X(cpu_counters, active_hz) X(cpu_counters, bound) X(cpu_counters, cycles_per_s) X(cpu_counters, turbo_ratio) \
    X(cpu_limits, cgroup) X(cpu_limits, cpu_limit_pct) X(cpu_limits, pid) X(cpu_limits, processes) \
    X(cpu_limits, throttled_pct) X(cpu_limits, throttled_us_per_s) \
    X(cpus, cpu) X(cpus, idle_pct) X(cpus, iowait_pct) X(cpus, irq_pct) X(cpus, softirq_pct) X(cpus, steal_pct) \
    X(devices, device) X(devices, discards_per_s) X(devices, flushes_per_s) X(devices, in_flight) \
    X(devices, read_wait_us) X(devices, reads_per_s) X(devices, util_pct) X(devices, write_wait_us) \
    X(devices, writes_per_s) \
    X(filesystems, available_kib) X(filesystems, device) X(filesystems, fill_kib_per_s) X(filesystems, inodes) X(filesystems, inodes_free) \
    X(filesystems, mount) X(filesystems, size_kib) X(filesystems, type) \
    X(filesystem_files, comm) X(filesystem_files, deleted) X(filesystem_files, file) \
    X(filesystem_files, growth_kib_per_s) X(filesystem_files, mount) X(filesystem_files, pid) \
    X(filesystem_files, size_kib) \
    X(file_creators, all_files) X(file_creators, comm) X(file_creators, directory) X(file_creators, files) X(file_creators, mount) \
    X(file_creators, pid) \
    X(interfaces, interface) X(interfaces, rx_drops_per_s) X(interfaces, rx_errors_per_s) \
    X(interfaces, rx_packets_per_s) X(interfaces, tx_drops_per_s) X(interfaces, tx_errors_per_s) \
    X(interfaces, tx_packets_per_s) \
    X(io_errors, device) X(io_errors, error) X(io_errors, errors_per_s) X(io_errors, sector) \
    X(io_in_flight, age_us) X(io_in_flight, device) X(io_in_flight, op) \
    X(io_limits, cgroup) X(io_limits, device) X(io_limits, io_wait_pct) X(io_limits, read_bytes_per_s) \
    X(io_limits, read_limit_bytes_per_s) X(io_limits, read_limit_per_s) X(io_limits, reads_per_s) \
    X(io_limits, write_bytes_per_s) X(io_limits, write_limit_bytes_per_s) X(io_limits, write_limit_per_s) \
    X(io_limits, writes_per_s) \
    X(memory, allocation_stalls_per_s) X(memory, available_kib) X(memory, compaction_stalls_per_s) X(memory, kswapd_scans_per_s) \
    X(memory, total_kib) \
    X(kernel_errors, count) X(kernel_errors, level) X(kernel_errors, text) \
    X(file_locks, comm) X(file_locks, inode) X(file_locks, pid) X(file_locks, waiter_comm) \
    X(file_locks, waiter_pid) X(file_locks, waiters) \
    X(limits, comm) X(limits, limit) X(limits, most) X(limits, of) X(limits, pid) X(limits, refused_per_s) \
    X(limits, used) \
    X(network_namespaces, comm) X(network_namespaces, udp_in_per_s) X(network_namespaces, listen_drops_per_s) \
    X(network_namespaces, listen_overflows_per_s) X(network_namespaces, netns) X(network_namespaces, pid) \
    X(network_namespaces, receive_buffer_errors_per_s) X(network_namespaces, resets_in_per_s) \
    X(network_namespaces, resets_out_per_s) X(network_namespaces, retransmits_per_s) \
    X(network_namespaces, segments_out_per_s) \
    X(local_ports, netns) X(resending, netns) X(socket_queues, netns) X(unread_sockets, netns) \
    X(local_ports, comm) X(local_ports, pid) X(local_ports, ports) X(local_ports, range) X(local_ports, remote) \
    X(lock_waits, comm) X(lock_waits, cycle) X(lock_waits, holder_comm) X(lock_waits, holder_in) X(lock_waits, holder_tid) \
    X(lock_waits, owner_known) X(lock_waits, pid) X(lock_waits, threads) X(lock_waits, turns_pct) X(lock_waits, waiters) \
    X(memory_limits, cgroup) X(memory_limits, limit_kib) X(memory_limits, used_kib) \
    X(read_only_mounts, after_errors) X(read_only_mounts, device) X(read_only_mounts, mount) \
    X(read_only_mounts, since_s) X(read_only_mounts, type) \
    X(sched_stuck, blocked_in) X(sched_stuck, state) X(sched_stuck, tid) X(sched_stuck, waits_for) \
    X(server_waits, comm) X(server_waits, file) X(server_waits, longest_s) X(server_waits, mount) \
    X(server_waits, pid) X(server_waits, server_state) X(server_waits, type) X(server_waits, waiter_comm) \
    X(server_waits, waiter_pid) X(server_waits, waiters) \
    X(close_wait, comm) X(close_wait, pid) X(close_wait, remote) X(close_wait, sockets) \
    X(socket_queues, comm) X(socket_queues, drops_per_s) X(socket_queues, local) X(socket_queues, pid) \
    X(socket_queues, protocol) X(socket_queues, queue) X(socket_queues, queue_limit) \
    X(stopped, comm) X(stopped, job) X(stopped, pid) X(stopped, tracer_comm) X(stopped, tracer_pid) \
    X(stopped, waiter_comm) X(stopped, waiter_pid) X(stopped, waiters) X(stopped, waits_at) \
    X(dirty_waits, comm) X(dirty_waits, dirty_kib) X(dirty_waits, held_pct) X(dirty_waits, limit_kib) \
    X(dirty_waits, pid) X(dirty_waits, write_bytes_per_s) \
    X(tasks, cgroup) X(tasks, comm) X(tasks, context_switches_per_s) X(tasks, cpu) X(tasks, cpu_pct) X(tasks, ended_s) \
    X(tasks, exit_code) X(tasks, major_faults_per_s) X(tasks, minor_faults_per_s) X(tasks, netns) X(tasks, pid) X(tasks, ppid) X(tasks, priority) \
    X(tasks, read_bytes_per_s) X(tasks, rss_kib) X(tasks, run_queue_us) X(tasks, started_s) X(tasks, state) X(tasks, threads) \
    X(tasks, system_pct) X(tasks, tid) X(tasks, write_bytes_per_s) \
    X(tables, busy_threads) X(busy_threads, comm) X(busy_threads, cpu) X(busy_threads, cpu_pct) X(busy_threads, pid) X(busy_threads, priority) X(busy_threads, tid) \
    X(tables, starved_threads) X(starved_threads, comm) X(starved_threads, cpu) X(starved_threads, pid) \
    X(starved_threads, tid) X(starved_threads, waited_pct) \
    X(tcp, listen_drops_per_s) X(tcp, listen_overflows_per_s) X(tcp, resets_in_per_s) X(tcp, resets_out_per_s) \
    X(tcp, retransmit_pct) X(tcp, retransmits_per_s) X(tcp, segments_out_per_s) \
    X(tracing_left, instance) X(tracing_left, traces) \
    X(tables, unread_sockets) X(unread_sockets, comm) X(unread_sockets, local) X(unread_sockets, pid) X(unread_sockets, queue) \
    X(unread_sockets, read_per_s) X(unread_sockets, remote) X(unread_sockets, sender_comm) X(unread_sockets, sender_pid) \
    X(unread_sockets, sender_queue) X(unread_sockets, stalled_s) \
    X(tables, lookup_waits) X(lookup_waits, comm) X(lookup_waits, longest_s) X(lookup_waits, lookups) X(lookup_waits, pid) \
    X(lookup_waits, server) X(lookup_waits, server_comm) X(lookup_waits, server_pid) X(lookup_waits, server_queue) \
    X(tables, pinned) X(pinned, allowed_cpus) X(pinned, comm) X(pinned, cpu_pct) X(pinned, pid) X(pinned, run_queue_us) X(pinned, pinned_threads) \
    X(tables, storms) X(storms, all_per_s) X(storms, comm) X(storms, detail) X(storms, error) X(storms, per_s) X(storms, pid) X(storms, waiting) \
    X(storms, what) X(tables, interrupts) X(interrupts, irq) X(interrupts, per_s) \
    X(memory, huge_page_kib) X(memory, huge_pages_free) X(memory, huge_pages_reserved) X(memory, huge_pages_total) \
    X(memory, page_tables_kib) X(memory, slab_kib) X(memory, slab_unreclaimable_kib) \
    X(tables, page_tables) X(page_tables, comm) X(page_tables, page_tables_kib) X(page_tables, pid) X(page_tables, rss_kib) \
    X(interfaces, carrier_changes) \
    X(tables, log_senders) X(log_senders, comm) X(log_senders, cpu_pct) X(log_senders, lines_per_s) X(log_senders, pid) \
    X(log_senders, sender_comm) X(log_senders, sender_lines_per_s) X(log_senders, sender_pid) X(log_senders, socket) X(log_senders, waits_pct) \
    X(tables, proc_readers) X(proc_readers, child) X(proc_readers, comm) X(proc_readers, cpu_pct) X(proc_readers, pid) X(proc_readers, proc_pct) \
    X(tables, resending) X(resending, comm) X(resending, local) X(resending, pid) X(resending, remote) X(resending, retransmits_per_s) \
    X(udp, datagrams_in_per_s) X(udp, receive_buffer_errors_per_s)
// clang-format on

struct finding_input {
    const char *of, *name; // "series", "hists", "tables", "trees", or the table of a column
};
extern const struct finding_input finding_inputs[]; // ends with a NULL name

enum {
#define ENUM(of_, name_) IN_##of_##_##name_,
    FINDINGS_INPUTS(ENUM)
#undef ENUM
};
// The name as a string constant, and the column of that name in the definition of the table.
#define IN(of_, name_) (&#name_[0 * IN_##of_##_##name_])
#define COL(def_, of_, name_) table_column(def_, IN(of_, name_))

#endif
