import { expect, inject, test } from 'vitest'
import { turnsDuring } from '../../../test/support/turns-during.ts'
import { READ_MAX, type LogRecord } from './log-record.ts'
import { prepareLines } from './prepare-lines.ts'

const NOW = Date.parse('2026-11-16T00:00:00Z')
const record = (text: string, service: string | null = null): LogRecord => ({
  at: null,
  level: 'info',
  text,
  service,
  traceId: null,
})

test('whatever stands in front of a line, it is stored and has a group', async () => {
  const { lines, rejected } = await prepareLines([record(`${' '.repeat(1001)}x`), record(' \n ')], NOW)
  expect(lines.map(({ group }) => group.template)).toEqual(['x'])
  expect(rejected).toBe(1)
})

test('the name of a service is masked, and counts as stored', async () => {
  const { lines } = await prepareLines([record('a', 'shop password=hunter2')], NOW)
  expect(lines[0]?.service).toBe('shop password=[hidden]')
  const [without, with600] = await Promise.all([
    prepareLines([record('a')], NOW),
    prepareLines([record('a', 'é'.repeat(200))], NOW),
  ])
  expect(with600.bytes - without.bytes).toBe(400)
})

test.runIf(inject('everyCase'))('long lines keep nobody else waiting', async () => {
  const slow = Array.from({ length: 100 }, () => record('eyJ-a://b@'.repeat(READ_MAX / 10)))
  // Each line is as much as one takes.
  expect(await turnsDuring(() => prepareLines(slow, NOW))).toBeGreaterThanOrEqual(slow.length)
})
