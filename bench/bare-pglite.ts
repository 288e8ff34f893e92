/** What a start costs at least: an empty Node process that opens the same database. */
import { PGlite } from '@electric-sql/pglite'

const database = await PGlite.create(process.argv[2])
await database.query('select 1')
console.log('ready')
process.on('SIGTERM', () => void database.close().then(() => process.exit(0)))
setInterval(() => {}, 1000)
