/** The program whose memory is looked at: the whole product, with one small embedded database to ask. */
import { listen } from '../src/boot/listener.ts'
import { knownVectors, makeSource, startSourceSystem } from './source-system.ts'
import { questionVectors } from './table-of-100k.ts'

const ROWS = 2_000
const [folder, port] = process.argv.slice(2) as [string, string]

const rows = questionVectors(ROWS)
const models = knownVectors('known-vectors', 384, (question) => rows[Number(question) % ROWS])
const ours = await startSourceSystem({ SVC_DATA_DIR: folder, PORT: port }, models)
const entry = {
  label: 'notes',
  table: 'notes',
  columns: ['embedding'],
  model: 'known-vectors',
  dimensions: 384,
  content_columns: 'id,title,body',
  distance_metric: 'cosine' as const,
}
const configuration = {
  connection_config: { embedding_configs: [entry] },
  filter_schema: { id: 'number' as const },
}
await makeSource(ours, 'bench', configuration, async (sql) => {
  await sql.unsafe('create table notes (id int primary key, title text, body text, embedding vector(384))')
  for (const [id, vector] of rows.entries()) {
    await sql.unsafe('insert into notes values ($1, $2, $3, $4::vector)', [
      id,
      `Note ${id}`,
      'A note of some length. '.repeat(10),
      `[${vector.join(',')}]`,
    ])
  }
  await sql.unsafe('analyze notes')
})
const listening = await listen(ours.system)
console.log(`token ${ours.token}\nready`)

process.once('SIGTERM', () => void listening.stop().then(() => ours.stop()))
