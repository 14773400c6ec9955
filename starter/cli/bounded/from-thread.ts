/** What the thread of a job reports. */
export type FromThread =
  | { readonly kind: 'doing'; readonly what: string }
  | { readonly kind: 'done'; readonly code: number }
