// A value that tells its watchers when it changes. The page's whole reactivity: views read
// .value and subscribe; models set it.

export type Unsubscribe = () => void

export class Signal<T> {
  #value: T
  #watchers = new Set<(value: T) => void>()

  constructor(value: T) {
    this.#value = value
  }

  get value(): T {
    return this.#value
  }

  set value(next: T) {
    if (Object.is(next, this.#value)) return
    this.#value = next
    this.notify()
  }

  /** Tells the watchers about a change inside the value. */
  notify(): void {
    for (const watcher of [...this.#watchers]) watcher(this.#value)
  }

  /** Calls watcher on every later change. */
  subscribe(watcher: (value: T) => void): Unsubscribe {
    this.#watchers.add(watcher)
    return () => this.#watchers.delete(watcher)
  }

  /** Calls watcher now and on every later change. */
  watch(watcher: (value: T) => void): Unsubscribe {
    watcher(this.#value)
    return this.subscribe(watcher)
  }
}

/** Collects the unsubscriptions of a view that comes and goes. */
export class Scope {
  #ends: Unsubscribe[] = []

  add(end: Unsubscribe): void {
    this.#ends.push(end)
  }

  end(): void {
    for (const end of this.#ends.splice(0)) end()
  }
}
