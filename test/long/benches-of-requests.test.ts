/** Benches of requests and pages; and that no bench is forgotten. */
import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { BENCHES, PROCESSES, REQUESTS, testBenches, WORK } from '../support/benches.ts'

/** Not at any size. */
const LEFT_OUT: Record<string, string> = {
  failover: 'makes a Postgres cluster, which needs root and its programs; npm run test:ha starts the same',
  question: 'asks a table of 100,000 rows, which takes minutes to make and is kept between runs',
  recall: 'asks the same table',
  scifact: 'needs the files of SciFact, which are not part of this repository',
  'scifact-documents': 'needs the same files',
}

test('every bench is here, or is left out for a reason', () => {
  const { status, stderr } = spawnSync(process.execPath, [BENCHES, 'no-such-bench'], { encoding: 'utf8' })
  expect(status).toBe(5)
  const names = /There are: (.*)\.$/m.exec(stderr)![1]!.split(', ')
  const known = [REQUESTS, PROCESSES, WORK, LEFT_OUT].flatMap((some) => Object.keys(some))
  expect(names.toSorted()).toEqual(known.toSorted())
})

testBenches(REQUESTS)
