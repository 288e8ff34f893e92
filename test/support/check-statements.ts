/** After each test on a database: it has run no statement across identity and tenant tables (db/table-kinds.ts). */
import { afterEach } from 'vitest'
import { reportAnswered } from './answered-operations.ts'
import { takeCrossings } from './crossing-statements.ts'

afterEach(() => {
  const crossings = takeCrossings()
  if (crossings.length > 0)
    throw new Error(
      `Read one kind of table, then the other by its ids; name the table of a column in a subquery:\n\n${crossings.join('\n\n')}`,
    )
})

reportAnswered()
