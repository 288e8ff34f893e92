import { expect, test } from 'vitest'
import type { Queries } from '../databases/index.ts'
import { contentTable, finishedTable, removeStaging, rowsTable, stagedTable } from './staging.ts'

const ID = 'lod_1'

test('whoever makes a table while what was staged is removed makes it before it is removed, or not at all', async () => {
  const tables = new Set([contentTable(ID), rowsTable(ID), stagedTable(ID), finishedTable(ID)])
  // As `whileStaged` does, at any moment between two statements.
  const makeAgain = () => {
    if (tables.has(rowsTable(ID))) tables.add(stagedTable(ID))
  }
  const queries: Queries = {
    query(text) {
      for (const name of tables) if (text.includes(`exists ${name} `)) tables.delete(name)
      makeAgain()
      return Promise.resolve([])
    },
  }
  await removeStaging(queries, ID)
  expect([...tables]).toEqual([])
})
