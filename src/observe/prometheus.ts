/** Counters, gauges and histograms in the text format of Prometheus. */

type Labels = Readonly<Record<string, string>>

export type Registry = {
  counter(name: string, help: string): { add(labels: Labels): void }
  gauge(name: string, help: string): { set(value: number, labels?: Labels): void; reset(): void }
  /** A counter or gauge whose value is read when the metrics are asked for, and left out while there is none. */
  read(kind: 'counter' | 'gauge', name: string, help: string, value: () => number | undefined): void
  histogram(
    name: string,
    help: string,
    buckets: readonly number[],
  ): { observe(value: number, labels: Labels): void }
  text(): string
}

type Family = { readonly head: string; readonly lines: () => string[] }

export const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

export function createRegistry(): Registry {
  const families: Family[] = []
  const add = (kind: string, name: string, help: string, lines: () => string[]) =>
    families.push({ head: `# HELP ${name} ${help}\n# TYPE ${name} ${kind}\n`, lines })
  const valuesOf = (kind: 'counter' | 'gauge', name: string, help: string): Map<string, number> => {
    const values = new Map<string, number>()
    add(kind, name, help, () => [...values].map(([labels, value]) => line(name, labels, value)))
    return values
  }
  return {
    counter(name, help) {
      const values = valuesOf('counter', name, help)
      return {
        add(labels) {
          const key = textOf(labels)
          values.set(key, (values.get(key) ?? 0) + 1)
        },
      }
    },
    gauge(name, help) {
      const values = valuesOf('gauge', name, help)
      return {
        set: (value, labels = {}) => void values.set(textOf(labels), value),
        reset: () => values.clear(),
      }
    },
    read(kind, name, help, value) {
      add(kind, name, help, () => {
        try {
          const now = value()
          return now === undefined ? [] : [line(name, '', now)]
        } catch {
          // The system may not tell, such as without a file descriptor to spare.
          return []
        }
      })
    },
    histogram(name, help, buckets) {
      const series = new Map<string, { sum: number; readonly counts: number[] }>()
      add('histogram', name, help, () =>
        [...series].flatMap(([labels, { sum, counts }]) =>
          histogramLines(name, labels, buckets, counts, sum),
        ),
      )
      return {
        observe(value, labels) {
          const key = textOf(labels)
          let one = series.get(key)
          if (!one) series.set(key, (one = { sum: 0, counts: Array<number>(buckets.length + 1).fill(0) }))
          const at = buckets.findIndex((bucket) => value <= bucket)
          one.counts[at === -1 ? buckets.length : at]! += 1
          one.sum += value
        },
      }
    },
    text: () => families.map(({ head, lines }) => `${head}${lines().join('')}`).join('\n'),
  }
}

/** Each bucket counts what the ones before it count, too. */
function histogramLines(
  name: string,
  labels: string,
  buckets: readonly number[],
  counts: readonly number[],
  sum: number,
): string[] {
  let total = 0
  const lines = counts.map((count, at) => {
    total += count
    const upTo = textOf({ le: at === buckets.length ? '+Inf' : String(buckets[at]) })
    return line(`${name}_bucket`, labels === '' ? upTo : `${upTo},${labels}`, total)
  })
  return [...lines, line(`${name}_sum`, labels, sum), line(`${name}_count`, labels, total)]
}

const line = (name: string, labels: string, value: number): string =>
  `${labels === '' ? name : `${name}{${labels}}`} ${value}\n`

const textOf = (labels: Labels): string =>
  Object.entries(labels)
    .map(([name, value]) => `${name}="${escaped(value)}"`)
    .join(',')

const escaped = (value: string): string =>
  value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
