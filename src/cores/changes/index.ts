/** What the changes core exports. */
export { notifyChange, notifyChanges, notifyChangeSoon } from './notify-change.ts'
