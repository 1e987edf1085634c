// What a view is told about its tool call, in the order that the protocol demands: partial arguments,
// then the arguments once, then the result or the cancellation. Pure.

export type Args = Record<string, unknown>
type Send = (method: string, params: object) => void

export class ToolFeed {
  #send: Send | null = null
  #partial: Args | null = null // not sent yet
  #input: Args | null = null
  #end: { method: string; params: object } | null = null
  #hasInput = false // sent
  #hasEnded = false // sent

  /** The view can listen from now on; a view that has started again is told everything again. */
  open(send: Send): void {
    this.#send = send
    this.#hasInput = this.#hasEnded = false
    this.#pump()
  }

  /** The view does not listen any more. */
  close(): void {
    this.#send = null
  }

  /** The result or the cancellation is known. */
  get isComplete(): boolean {
    return this.#end !== null
  }

  partial(args: Args): void {
    if (this.#input || this.#end) return
    this.#partial = args
    this.#pump()
  }

  input(args: Args): void {
    if (this.#input || this.#end) return
    this.#input = args
    this.#pump()
  }

  result(result: object): void {
    if (this.#end) return
    this.#input ??= {}
    this.#end = { method: 'ui/notifications/tool-result', params: result }
    this.#pump()
  }

  cancel(reason: string): void {
    if (this.#end) return
    this.#end = {
      method: 'ui/notifications/tool-cancelled',
      params: reason ? { reason } : {},
    }
    this.#pump()
  }

  #pump(): void {
    if (!this.#send) return
    if (this.#partial && !this.#input && !this.#end)
      this.#send('ui/notifications/tool-input-partial', { arguments: this.#partial })
    this.#partial = null
    if (this.#input && !this.#hasInput) {
      this.#hasInput = true
      this.#send('ui/notifications/tool-input', { arguments: this.#input })
    }
    if (this.#end && !this.#hasEnded) {
      this.#hasEnded = true
      this.#send(this.#end.method, this.#end.params)
    }
  }
}
