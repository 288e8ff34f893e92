/** What the endings core exports. */
export { endAgain } from './end-again.ts'
