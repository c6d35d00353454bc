/**
 * Payloads as objects: {@link dev.taskhold.jackson.JsonMapping}, of which there is one for Jackson 2 and one for Jackson 3.
 */
@NullMarked
package dev.taskhold.jackson;

import org.jspecify.annotations.NullMarked;
