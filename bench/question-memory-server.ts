/** The program whose memory is looked at: the whole product, with one small embedded database to ask. */
import { listen } from '../src/boot/listener.ts'
import { knownVectors, makeNotes, startSourceSystem } from './source-system.ts'
import { questionVectors } from './table-of-100k.ts'

const MODEL = 'known-vectors'
const ROWS = 2_000
const [folder, port] = process.argv.slice(2) as [string, string]

const rows = questionVectors(ROWS)
const models = knownVectors(MODEL, rows[0]!.length, (question) => rows[Number(question) % ROWS])
const ours = await startSourceSystem({ SVC_DATA_DIR: folder, PORT: port }, models)
await makeNotes(ours, { model: MODEL, vectors: rows }, { id: 'number' })
const listening = await listen(ours.system)
console.log(`token ${ours.token}\nready`)

process.once('SIGTERM', () => void listening.stop().then(() => ours.stop()))
