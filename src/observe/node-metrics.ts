/** How the process itself is doing, under the names that dashboards for Node know. */
import { readdirSync, readFileSync } from 'node:fs'
import { constants, monitorEventLoopDelay, PerformanceObserver } from 'node:perf_hooks'
import type { Registry } from './prometheus.ts'

const GC_BUCKETS = [0.001, 0.01, 0.1, 1, 2, 5]

const GC_KINDS: Readonly<Record<number, string>> = {
  [constants.NODE_PERFORMANCE_GC_MAJOR]: 'major',
  [constants.NODE_PERFORMANCE_GC_MINOR]: 'minor',
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL]: 'incremental',
  [constants.NODE_PERFORMANCE_GC_WEAKCB]: 'weakcb',
}

/** As the observer has it for entries of the type gc. */
type Collection = PerformanceEntry & { readonly detail: { readonly kind: number } }

export function observeNode(registry: Registry): void {
  const gauge = (name: string, help: string, read: () => number | undefined) =>
    registry.read('gauge', name, help, read)
  observeCpu(registry)
  const started = Math.round(Date.now() / 1000 - process.uptime())
  gauge('process_start_time_seconds', 'Start time of the process, in seconds since 1970.', () => started)
  const memory = process.memoryUsage
  gauge('process_resident_memory_bytes', 'Resident memory.', () => memory().rss)
  gauge('nodejs_heap_size_total_bytes', 'Size of the heap.', () => memory().heapTotal)
  gauge('nodejs_heap_size_used_bytes', 'Used part of the heap.', () => memory().heapUsed)
  gauge('nodejs_external_memory_bytes', 'Memory of objects outside the heap.', () => memory().external)
  gauge('process_open_fds', 'Open file descriptors.', openFiles)
  const mayOpen = openFilesAllowed()
  gauge('process_max_fds', 'File descriptors that may be open.', () => mayOpen)
  observeEventLoop(registry)
  observeCollections(registry)
  const [major = '', minor = '', patch = ''] = process.versions.node.split('.')
  registry
    .gauge('nodejs_version_info', 'Version of Node.')
    .set(1, { version: process.version, major, minor, patch })
}

function observeCpu(registry: Registry): void {
  const seconds = (name: string, help: string, microseconds: (used: NodeJS.CpuUsage) => number) =>
    registry.read('counter', name, help, () => microseconds(process.cpuUsage()) / 1e6)
  seconds('process_cpu_user_seconds_total', 'CPU time of the process itself.', ({ user }) => user)
  seconds('process_cpu_system_seconds_total', 'CPU time of the system for it.', ({ system }) => system)
  seconds('process_cpu_seconds_total', 'CPU time of both.', ({ user, system }) => user + system)
}

/** Since the scrape before. */
function observeEventLoop(registry: Registry): void {
  const delays = monitorEventLoopDelay()
  delays.enable()
  let last = 0
  registry.read(
    'gauge',
    'nodejs_eventloop_lag_seconds',
    'Lag of the event loop at the scrape before.',
    () => {
      const asked = performance.now()
      setImmediate(() => (last = (performance.now() - asked) / 1000))
      return last
    },
  )
  const read = (what: string, nanoseconds: () => number) =>
    registry.read(
      'gauge',
      `nodejs_eventloop_lag_${what}_seconds`,
      `Delays of the event loop: ${what}.`,
      () => (delays.count === 0 ? 0 : nanoseconds() / 1e9),
    )
  read('min', () => delays.min)
  read('mean', () => delays.mean)
  read('stddev', () => delays.stddev)
  read('p50', () => delays.percentile(50))
  read('p90', () => delays.percentile(90))
  read('p99', () => delays.percentile(99))
  read('max', () => {
    const { max } = delays
    // The last that is read.
    delays.reset()
    return max
  })
}

function observeCollections(registry: Registry): void {
  const seconds = registry.histogram(
    'nodejs_gc_duration_seconds',
    'Garbage collections, by kind: major, minor, incremental or weakcb.',
    GC_BUCKETS,
  )
  const observer = new PerformanceObserver((list) => {
    for (const { duration, detail } of list.getEntries() as Collection[]) {
      const kind = GC_KINDS[detail.kind]
      if (kind) seconds.observe(duration / 1000, { kind })
    }
  })
  observer.observe({ entryTypes: ['gc'] })
}

/** Undefined where the system does not tell. */
function openFiles(): number | undefined {
  try {
    // Without the one that reads them.
    return readdirSync('/proc/self/fd').length - 1
  } catch {
    return undefined
  }
}

function openFilesAllowed(): number | undefined {
  try {
    const [, soft] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return soft === undefined ? undefined : Number(soft)
  } catch {
    return undefined
  }
}
