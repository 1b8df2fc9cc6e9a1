import type { Field } from './field.ts';
import { labelValue, qualifiedName } from './names.ts';

export function validateTolerations(tolerations: Field): void {
  for (const toleration of tolerations.each()) {
    const key = toleration.get('key');
    const operator = toleration.get('operator');
    const effect = toleration.get('effect');
    const value = toleration.get('value');
    if (key.text !== '') key.reportAll(qualifiedName(key.text));
    else if (operator.text !== 'Exists') operator.report('must be Exists where no key is given');
    if (toleration.get('tolerationSeconds').isSet && effect.text !== 'NoExecute')
      effect.report('must be NoExecute where tolerationSeconds is given');
    validateOperator(operator, value);
    if (effect.text !== '') effect.oneOf(['NoSchedule', 'PreferNoSchedule', 'NoExecute']);
  }
}

function validateOperator(operator: Field, value: Field): void {
  if (operator.text === 'Equal' || operator.text === '') {
    const problems = labelValue(value.text);
    if (problems.length > 0) operator.report(`the value ${value.shown} ${problems.join(' and ')}`);
  } else if (operator.text !== 'Exists') {
    operator.oneOf(['Equal', 'Exists']);
  } else if (value.text !== '') {
    operator.report(`Exists goes without a value, not with ${value.shown}`);
  }
}
