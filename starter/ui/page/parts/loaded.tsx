import type { ComponentChildren } from 'preact'
import type { Resource } from '../state/resource.ts'
import { Icon } from './icon.tsx'

interface Props<T> {
  readonly resource: Resource<T>
  /** What is read, such as `the cost`. */
  readonly what: string
  readonly children: (value: T) => ComponentChildren
}

/** What the server said, or why it did not. */
export function Loaded<T>({ resource: { value, problem, reload }, what, children }: Props<T>) {
  return (
    <>
      {problem !== undefined && (
        <p class="problem" role="alert">
          <Icon name="alert" />
          <span>{problem}</span>
          <button type="button" onClick={reload}>
            Try again
          </button>
        </p>
      )}
      {value === undefined ? problem === undefined && <p class="waiting">Reading {what} …</p> : children(value)}
    </>
  )
}
