/** docs/benchmarks.md and docs/proofs.md, of what runs wrote down. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readResults } from '../../bench/results.ts'
import { SECONDS } from '../../test/long-thirds.ts'
import { readProofs, type ProofRun } from '../../test/proofs.ts'

const ROOT = join(import.meta.dirname, '../..')

const row = (...cells: string[]): string =>
  `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
const table = (head: readonly string[], rows: readonly string[]): string =>
  [row(...head), `|${'---|'.repeat(head.length)}`, ...rows].join('\n')

export function benchmarksPage(): string {
  const rows = readResults().map(({ bench, what, measured, ratio, target, met, date, machine, commit }) =>
    row(
      `\`${bench}\``,
      what,
      measured,
      ratio ?? '',
      target ?? '',
      met === null ? '' : met ? 'yes' : '**no**',
      [date, machine, ...(commit ? [`\`${commit}\``] : [])].join(', '),
    ),
  )
  return `# Benchmarks

Every claim about speed is a ratio, measured side by side in one run on one machine. This page is made of
\`bench/results.json\` by \`npm run generate\`; do not edit it.

- \`npm run bench\` runs everything, \`npm run bench gateway memory\` runs some, and each writes its numbers down. What else
  there is to compare with is installed by \`npm ci --prefix bench --legacy-peer-deps\`. \`BENCH_SIZE=small\` only shows that
  benches run, and writes nothing.
- \`npm run bench:record -- --bench growth --what "…" --measured "12 ms" --ratio 1.1x --target 2x --met yes\` adds a number by
  hand (\`--machine\`, \`--commit\` and \`--date\` for one from elsewhere).
- What was tried, and what it decided, is in [decision 6](decisions/0006-what-was-tried-for-speed.md).

Numbers depend on the machine, and most were taken beside other work. A row without a commit is from before commits were written
down.

${table(['Bench', 'What', 'Measured', 'Ratio', 'Target', 'Met', 'When'], rows)}
`
}

export function proofsPage(): string {
  const { runs, proofs, found } = readProofs()
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }
  return `# Long proofs

This page is made of \`test/proofs.json\` by \`npm run generate\`; do not edit it. A whole run of \`npm run test:long\`, of a third of
it (\`LONG_TESTS=2/3\`, as \`.ci/run\` does in turn) or of \`npm run test:ha\` (its part is called \`cluster\`) writes itself down, and
so does a single proof with \`PROOF=record\`. \`LONG_IMAGE=1\` adds the image (\`INSTALL=yes\` installs an engine for it),
\`LONG_INSTALLS=1\` a fresh clone with its packages from the network, \`LONG_BENCHES=1\` that every bench runs, \`KUBE_APISERVER\`
and \`KUBE_ETCD\` a real API server.
\`npm run proofs\` says which of them were not run on what you have checked out.

## Runs

${table(
  ['Date', 'Commit', 'Part', 'Where', 'Duration', 'Result'],
  runs.map(({ date, commit, part, machine, seconds, result }) =>
    row(date, `\`${commit}\``, part, machine, `${Math.round(seconds).toLocaleString('en-US')} s`, result),
  ),
)}

## Each proof

${table(
  ['Proof', 'Last run', 'Result'],
  Object.keys(SECONDS)
    .toSorted()
    .map((file) =>
      proofRow(
        file,
        version,
        proofs.find((one) => one.file === file),
      ),
    ),
)}

## What they found

"Taken out" is what came out without the thing that the proof is about.

${table(
  ['Proof', 'What', 'Result', 'Taken out', 'When'],
  found.map(({ proof, what, result, without, date, machine }) =>
    row(`\`${proof}\``, what, result, without ?? '', `${date}, ${machine}`),
  ),
)}
`
}

function proofRow(file: string, version: string, run: ProofRun | undefined): string {
  const name = `\`${file.replace(/^test\//, '').replace(/\.test\.ts$/, '')}\``
  if (!run) return row(name, '', 'no run of its own is written down')
  const when = `${run.date}, \`${run.commit}\`, ${run.machine}`
  const result = `${run.passed} passed${run.skipped ? `, ${run.skipped} skipped` : ''}${run.failed ? `, **${run.failed} failed**` : ''}`
  return row(
    name,
    when,
    run.version === version ? result : `not run on ${version}; on ${run.version}: ${result}`,
  )
}
