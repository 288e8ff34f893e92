/** What the endings core exports. */
export { keepUnsettledEndings } from './unsettled-endings.ts'
