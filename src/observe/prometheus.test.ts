import { expect, test } from 'vitest'
import { createRegistry } from './prometheus.ts'

test('a histogram counts into every bucket that a value fits in, for each set of labels', () => {
  const registry = createRegistry()
  const seconds = registry.histogram('wait_seconds', 'Waits.', [0.1, 1])
  for (const value of [0.05, 0.1, 0.5, 7]) seconds.observe(value, { job: 'one' })
  seconds.observe(1, { job: 'other' })
  expect(registry.text()).toBe(`# HELP wait_seconds Waits.
# TYPE wait_seconds histogram
wait_seconds_bucket{le="0.1",job="one"} 2
wait_seconds_bucket{le="1",job="one"} 3
wait_seconds_bucket{le="+Inf",job="one"} 4
wait_seconds_sum{job="one"} 7.65
wait_seconds_count{job="one"} 4
wait_seconds_bucket{le="0.1",job="other"} 0
wait_seconds_bucket{le="1",job="other"} 1
wait_seconds_bucket{le="+Inf",job="other"} 1
wait_seconds_sum{job="other"} 1
wait_seconds_count{job="other"} 1
`)
})

test('values of labels are escaped', () => {
  const registry = createRegistry()
  registry.counter('sent_total', 'Sent.').add({ to: 'a "b"\\c\nd' })
  expect(registry.text()).toContain('sent_total{to="a \\"b\\"\\\\c\\nd"} 1\n')
})

test('a gauge keeps the last value, and one that is read has none while there is nothing to read', () => {
  const registry = createRegistry()
  const open = registry.gauge('open', 'Open.')
  open.set(3)
  open.set(2)
  const values = [undefined, 5]
  registry.read('gauge', 'read', 'Read.', () => values.shift())
  registry.read('gauge', 'never', 'Never.', () => {
    throw new Error('planted')
  })
  expect(registry.text()).toBe(
    '# HELP open Open.\n# TYPE open gauge\nopen 2\n\n# HELP read Read.\n# TYPE read gauge\n\n# HELP never Never.\n# TYPE never gauge\n',
  )
  open.reset()
  expect(registry.text()).toBe(
    '# HELP open Open.\n# TYPE open gauge\n\n# HELP read Read.\n# TYPE read gauge\nread 5\n\n# HELP never Never.\n# TYPE never gauge\n',
  )
})
