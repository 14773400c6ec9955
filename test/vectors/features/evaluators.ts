import { evaluateBuffer } from './buffer.ts'
import { evaluateOverlay } from './overlay.ts'
import { evaluateStatic } from './static.ts'

/** Evaluators of cases by their feature. */
export const featureEvaluators: Readonly<Record<string, (input: never) => unknown>> = {
  buffer: evaluateBuffer,
  overlay: evaluateOverlay,
  static: evaluateStatic,
}
