/** What the credentials core exports. */
export { endByCause, type Cause, type People } from './end-by-cause.ts'
