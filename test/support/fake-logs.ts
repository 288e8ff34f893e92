/** The part of the fake gateway with logs. */
import type * as z from 'zod'
import * as logs from '../../src/contracts/logs.ts'
import type { FakeContext } from './fake-data-sources.ts'

type Line = z.output<typeof logs.listLogs.output>['lines'][number]
type Group = z.output<typeof logs.listLogGroups.output>['groups'][number]

const [LINE_ID, GROUP_ID] = [`lgl_${'0'.repeat(25)}`, `lgr_${'0'.repeat(25)}`]

export function fakeLogs({ on, list, clock }: FakeContext) {
  const data = { lines: [] as Line[], groups: [] as Group[], arrived: [] as Line[], asked: [] as object[] }
  on(logs.listLogs, (input) => {
    data.asked.push(input)
    if (input.after !== undefined) return { lines: data.arrived, after: LINE_ID }
    const found = data.lines.filter(
      ({ level, text }) =>
        (input.level === undefined || input.level === level) &&
        (input.text === undefined || text.includes(input.text)),
    )
    return { ...(list('lines', found, input) as object), after: LINE_ID }
  })
  on(logs.listLogGroups, (input) => list('groups', data.groups, input))
  return {
    data,
    addLine: (facts: Partial<Line>): Line => {
      const line: Line = {
        id: LINE_ID.slice(0, -1) + String(data.lines.length),
        at: clock().toISOString(),
        level: 'info',
        text: 'GET /orders/17 200 in 12 ms',
        service: 'checkout',
        trace_id: null,
        group_id: GROUP_ID,
        ...facts,
      }
      data.lines.push(line)
      return line
    },
    addGroup: (template: string, count: number) =>
      data.groups.push({
        id: GROUP_ID,
        template,
        level: 'error',
        count,
        first_at: clock().toISOString(),
        last_at: clock().toISOString(),
        sample_id: LINE_ID,
      }),
  }
}

export function seedLogs(fake: ReturnType<typeof fakeLogs>): void {
  fake.addLine({})
  fake.addLine({
    level: 'error',
    text: 'card declined\n    at pay (pay.ts:1:2)\n    at checkout (checkout.ts:3:4)',
  })
  fake.addLine({ level: 'warn', text: '<script>alert(1)</script> is text', service: null })
  fake.addGroup('card declined', 3)
}
