import type { DisruptionMethod } from '../command.ts'
import { drift } from './drift.ts'
import { emptiness } from './emptiness.ts'
import type { Method } from './method.ts'
import { multiNode } from './multi-node.ts'
import { repair } from './repair.ts'
import { singleNode } from './single-node.ts'
import { staticDrift } from './static-drift.ts'

/** All methods by name; `methodNames` gives their order. */
export const methods: { readonly [Name in DisruptionMethod]: Method & { readonly name: Name } } = {
  repair,
  emptiness,
  'static-drift': staticDrift,
  drift,
  'multi-node': multiNode,
  'single-node': singleNode,
}
