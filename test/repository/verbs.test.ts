/** What changes something declares so: its transaction, its author's lock, its rows in the audit trail are the envelope's. */
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { OPERATIONS } from '../../src/contracts/operations.ts'
import type { Verb } from '../../src/cores/verb.ts'
import { readTree, ROOT } from './source-tree.ts'

type Name = (typeof OPERATIONS)[number]['name']

/** Operations that change something without being a `write`. */
const WRITTEN_BY_HAND: Partial<Record<Name, string>> = {
  reportToolCall: 'one statement of every MCP call: a transaction would cost each of them two round trips',
  createEmbeddings: 'takes its turn among the calls of its organization, and gives tokens back',
  exportLogs: 'lines are stored in turn, in transactions of their own',
  pushLogs: 'lines are stored in turn, in transactions of their own',
  uploadFiles: 'an archive is unpacked in a thread and stored in parts',
  askEval:
    'asks for seconds, outside of any transaction, and records what every call records; its numbers are one',
  claimDeployment: 'a claim is a transaction of its own, and a call that finds none waits',
  claimPipelineRun: 'a claim is a transaction of its own, and a call that finds none waits',
  uploadLoadPart:
    'the lease of the upload is taken and given back around the part, which is in another database',
  signInWithPassword: 'the sign-in page does the same without an operation',
  sendEmailVerification: 'a link that is stored in one statement, and its mail',
}

/** Lists that are not a `list`. */
const LISTED_BY_HAND: Partial<Record<Name, string>> = {
  previewDataSource: 'reads rows of a data source, which are not in our tables',
  listLogs: 'follows lines in the order they arrive as well, and waits for them',
}

const verbs = await readVerbs()
const kindOf = (name: Name) => verbs.get(name)?.declared?.kind

describe('every verb', () => {
  test('that changes something is a write, or says why not', () => {
    const others = OPERATIONS.filter(({ readOnly, name }) => !readOnly && kindOf(name) !== 'write')
    expect(others.map(({ name }) => name).toSorted()).toEqual(Object.keys(WRITTEN_BY_HAND).toSorted())
  })

  test('that answers pages is a list, or says why not', () => {
    const others = OPERATIONS.filter(({ input, name }) => 'cursor' in input.shape && kindOf(name) !== 'list')
    expect(others.map(({ name }) => name).toSorted()).toEqual(Object.keys(LISTED_BY_HAND).toSorted())
  })

  test('that only reads is no write, unless reading it is audited', () => {
    const writes = OPERATIONS.filter(({ readOnly, name }) => readOnly && kindOf(name) === 'write')
    expect(writes.filter(({ name }) => verbs.get(name)?.declared?.audit === undefined)).toEqual([])
  })
})

async function readVerbs(): Promise<ReadonlyMap<string, Partial<Verb<Name>>>> {
  const paths = [...readTree().keys()].filter((path) => path.startsWith('src/cores/'))
  const found = OPERATIONS.map(async ({ name }) => {
    const file = `/${name.replaceAll(/[A-Z]/g, (capital) => `-${capital.toLowerCase()}`)}.ts`
    const path = paths.find((each) => each.endsWith(file))
    const exported = path === undefined ? {} : ((await import(join(ROOT, path))) as Record<string, unknown>)
    return [name, exported[name] as Partial<Verb<Name>>] as const
  })
  return new Map(await Promise.all(found))
}
