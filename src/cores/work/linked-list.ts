/**
 * A list whose first and last are known, and of which anything can be taken, without a walk. A Set has no last one, and looks
 * for its first behind the places of all that were deleted.
 */

type Link<T> = { readonly value: T | undefined; before: Link<T>; after: Link<T> }

export function linkedList<T>() {
  const end = { value: undefined } as Link<T>
  end.before = end
  end.after = end
  return {
    first: (): T | undefined => end.after.value,
    last: (): T | undefined => end.before.value,
    /** Returns how to take it out, which may be done twice. */
    append(value: T): () => void {
      const link: Link<T> = { value, before: end.before, after: end }
      end.before.after = link
      end.before = link
      return () => {
        link.before.after = link.after
        link.after.before = link.before
        link.before = link
        link.after = link
      }
    },
  }
}
