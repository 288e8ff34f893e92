/** Which operations wait for a standby, and which may be read from one that is behind. */
import { expect, test } from 'vitest'
import { DURABILITIES, type Operation } from '../../src/contracts/operation.ts'
import { OPERATIONS } from '../../src/contracts/operations.ts'

test('an operation waits for the standby, unless it only reads or is one of these few', () => {
  const local = (OPERATIONS as readonly Operation[]).filter(({ durability }) => durability === 'local')
  const changing = local.filter(({ readOnly }) => !readOnly).map(({ name }) => name)
  expect(changing.toSorted()).toEqual([
    'createEmbeddings',
    'exportLogs',
    'pushLogs',
    'reportDeploymentOutput',
    'reportToolCall',
  ])
  const all = (OPERATIONS as readonly Operation[]).filter(({ durability }) =>
    DURABILITIES.includes(durability),
  )
  expect(all).toHaveLength(OPERATIONS.length)
  // Nothing that ends, rotates, gives or decides something.
  expect(local.filter(({ destructive }) => destructive)).toEqual([])
})

test('one that may be old only reads, says how old it is, and is none of those that decide who may what', () => {
  const old = (OPERATIONS as readonly Operation[]).filter(({ mayBeOld }) => mayBeOld)
  expect(old.filter((op) => !op.readOnly || !('age_seconds' in op.output.shape))).toEqual([])
  expect(old.map(({ name }) => name).toSorted()).toEqual([
    'downloadProposalPatch',
    'downloadRevision',
    'listActivity',
    'listAudit',
    'listDeliveries',
    'listLogGroups',
    'listLogs',
    'showAgentDay',
    'summarizeActivity',
    'summarizeDeliveries',
    'summarizeLogs',
  ])
})
