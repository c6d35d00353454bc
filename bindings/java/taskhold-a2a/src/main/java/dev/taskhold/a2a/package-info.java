/** The stores of the A2A SDK for Java over a {@link dev.taskhold.StateProvider}. */
@NullMarked
package dev.taskhold.a2a;

import org.jspecify.annotations.NullMarked;
