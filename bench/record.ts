/**
 * `npm run bench:record -- --bench growth --what "a page of activity" --measured "12 ms" --ratio 1.1x --target 2x --met yes`
 * records by hand what no bench prints, or what was measured elsewhere (`--machine`, `--commit`, `--date`).
 */
import { parseArgs } from 'node:util'
import { here, readResults, withResults, writeResults, type Result } from './results.ts'

const { values } = parseArgs({
  options: {
    bench: { type: 'string' },
    what: { type: 'string' },
    measured: { type: 'string', default: '' },
    ratio: { type: 'string' },
    target: { type: 'string' },
    met: { type: 'string' },
    machine: { type: 'string' },
    commit: { type: 'string' },
    date: { type: 'string' },
  },
})
const { bench, what, measured, ratio, target, met } = values
const problem =
  bench === undefined || what === undefined || (measured === '' && ratio === undefined)
    ? '--bench, --what and one of --measured and --ratio are needed.'
    : (target === undefined) !== (met === undefined) || !['yes', 'no', undefined].includes(met)
      ? '--target and --met yes|no go together.'
      : undefined
if (problem !== undefined || bench === undefined || what === undefined) {
  console.error(problem)
  process.exit(5)
}
const now = here()
const result: Result = {
  bench,
  what,
  measured,
  ratio: ratio ?? null,
  target: target ?? null,
  met: met === undefined ? null : met === 'yes',
  date: values.date ?? now.date,
  machine: values.machine ?? now.machine,
  commit: values.commit ?? now.commit,
  by: 'hand',
}
writeResults(withResults(readResults(), [result]))
console.log('bench/results.json has it. Run: npm run generate')
