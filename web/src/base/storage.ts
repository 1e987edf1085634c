// Values that are stored in the browser. Storage may be full or forbidden: then nothing is remembered,
// and the page works all the same.

const PREFIX = 'nb.'

const place = (isOfTab: boolean): Storage => (isOfTab ? sessionStorage : localStorage)

/** isOfTab: the value of this tab, which loading the page again does not change. */
export function recall<T>(key: string, otherwise: T, isOfTab = false): T {
  try {
    const text = place(isOfTab).getItem(PREFIX + key)
    return text === null ? otherwise : (JSON.parse(text) as T)
  } catch {
    return otherwise
  }
}

export function remember(key: string, value: unknown, isOfTab = false): void {
  try {
    if (value === null || value === undefined) place(isOfTab).removeItem(PREFIX + key)
    else place(isOfTab).setItem(PREFIX + key, JSON.stringify(value))
  } catch {
    // Forgetting is acceptable.
  }
}
