/** Groups that differ only in names with numbers (`s17`, `worker-b2`) are one thing that was logged many times. */
import type { LogGroup } from './reader.ts'

/** Fewer may be different things: `utf8` and `utf16`. */
const ALIKE_MIN = 3

export function foldGroups(groups: readonly LogGroup[]): LogGroup[] {
  const alike = Map.groupBy(groups, ({ level, template }) => `${level} ${foldedTemplate(template)}`)
  return [...alike.values()].flatMap((own) => (own.length < ALIKE_MIN ? own : [foldedGroup(own)]))
}

const foldedTemplate = (template: string): string => template.replaceAll(/[\w-]*\d[\w-]*/g, '<n>')

/** With the id of the newest: its lines are read. */
function foldedGroup(own: readonly LogGroup[]): LogGroup {
  const newest = own.reduce((a, b) => (b.last_at > a.last_at ? b : a))
  return {
    ...newest,
    template: foldedTemplate(newest.template),
    count: own.reduce((sum, { count }) => sum + count, 0),
    today: own.reduce((sum, { today }) => sum + today, 0),
    first_at: own.reduce((first, { first_at }) => (first_at < first ? first_at : first), newest.first_at),
  }
}
