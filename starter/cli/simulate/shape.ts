import { parseQuantity } from '../../../core/values/quantity.ts'
import { type Shape, wrong } from '../../../core/values/shape.ts'
import { ReportedError } from '../shared/reported-error.ts'

export * from '../../../core/values/shape.ts'

const quantitiesSeen = new Set<unknown>()

export const quantity: Shape = (value) => {
  if (quantitiesSeen.has(value)) return undefined
  const isText = typeof value === 'string' || typeof value === 'number'
  if (!isText || parseQuantity(String(value)).kind === 'error')
    return wrong(value, 'write a quantity such as 500m or 2Gi')
  quantitiesSeen.add(value)
  return undefined
}

/** Bad input: the command ends with its messages. */
export class InputError extends ReportedError {}
