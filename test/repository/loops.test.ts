/**
 * Every loop and job of the worker has a walk in `npm test`: it names the verb that the loop runs, or starts the loop. By its
 * imports: a walk counts also where only those of its cases use the verb that `npm test` leaves out (`everyCase`).
 */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { files } from '../matching.ts'
import { SLOW_WALKS, WALKS } from '../vitest.config.ts'
import { filesUnder } from './source-tree.ts'

const IMPORT = /^import (?:\{([^}]*)\}|\* as \w+) from '(\.[^']*)'/gm

type Imported = { readonly names: readonly string[]; readonly path: string }

function importsOf(file: string): Imported[] {
  return [...readFileSync(file, 'utf8').matchAll(IMPORT)].map(([, names = '', path]) => ({
    names: names
      .split(',')
      .map((name) => name.trim().split(' as ')[0]!)
      .filter((name) => name !== '' && !name.startsWith('type ')),
    path: join(dirname(file), path!),
  }))
}

/** What the files of the worker run, by the file that runs it: verbs of the cores. How they are run is no verb. */
const LOOPS = filesUnder('src/worker')
  .filter((file) => !file.endsWith('.test.ts'))
  .flatMap((file) =>
    importsOf(file)
      .filter(({ path }) => path.startsWith('src/cores/') && !path.startsWith('src/cores/work/'))
      .flatMap(({ names }) => names.map((verb) => ({ verb, file }))),
  )

/** What a walk names itself, or by way of what supports it. */
function reaches(walk: string): Set<string> {
  const names = new Set<string>()
  const seen = new Set<string>()
  const look = (file: string) => {
    if (seen.has(file)) return
    seen.add(file)
    for (const imported of importsOf(file)) {
      for (const name of imported.names) names.add(name)
      if (imported.path.startsWith('test/')) look(imported.path)
    }
  }
  look(walk)
  return names
}

/** By which a walk runs the verb: the loops of the file, or its list of sweeps. */
function startersOf(file: string, verb: string): string[] {
  const text = readFileSync(file, 'utf8')
  const swept = /^const SWEEPS = \[([^\]]*)\]/m.exec(text)?.[1] ?? ''
  const starters = [...text.matchAll(/^export function (start\w+)/gm)].map(([, name]) => name!)
  return swept.split(/\W+/).includes(verb) ? [...starters, 'sweep'] : starters
}

const slow = new Set(files(SLOW_WALKS))
const fast = files(WALKS).filter((walk) => !slow.has(walk))

test('every loop has a walk in npm test', () => {
  expect(LOOPS.length).toBeGreaterThan(20)
  const reached = new Set(fast.flatMap((walk) => [...reaches(walk)]))
  const missing = LOOPS.filter(
    ({ verb, file }) => !reached.has(verb) && !startersOf(file, verb).some((name) => reached.has(name)),
  )
  expect(missing).toEqual([])
})
